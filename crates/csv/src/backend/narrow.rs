//! Medians and quantiles of more numbers than memory holds, exactly: the file is read again for those
//! numbers only between which, by what a sample says, they lie. Where the sample misled, what was
//! counted on the way narrows the place down, and the file is read once more.

use std::cmp::Ordering;

use super::filter::Test;
use super::number::Number;
use super::parts::{self, Gather};
use super::ranks::Numbers;
use super::reader::{TableFile, TableReader};
use super::report::Operation;
use super::scan::{ROWS_BETWEEN_CHECKS, Scan};
use super::typed::{Cell, Typed};
use super::{Error, Observer};

/// Two are nearly always enough: one for the sample, and one more where many numbers are equal.
const MAX_PASSES: usize = 6;

/// Finds what the operations look for: among the numbers kept, or in the file where those are a sample.
pub(super) fn settle(
    file: &TableFile,
    scan: &mut Scan,
    operations: &[Operation],
    test: &Test,
    observer: &dyn Observer,
) -> Result<(), Error> {
    let mut searches = Vec::new();
    for (index, (place, column)) in scan.columns.iter_mut().enumerate() {
        let typed = Typed::of(*place, column);
        let numbers = column.stats_mut().numbers_mut().filter(|_| typed.is_numeric());
        let Some(numbers) = numbers else {
            continue;
        };
        let ranks = ranks(numbers, operations);
        if numbers.is_sample() {
            let bounds = |rank| Sought::new(rank, around(numbers, rank, Bounds::NONE));
            let sought = ranks.into_iter().map(bounds).collect();
            numbers.give_up();
            let count = numbers.count();
            searches.push(Search { index, typed, count, sought, found: Vec::new() });
        } else {
            let at = |rank: u64| Some((rank, numbers.kept_at(usize::try_from(rank).ok()?)?));
            let found = ranks.into_iter().filter_map(at).collect();
            numbers.settle(found);
        }
    }
    if !searches.is_empty() && !scan.table.is_cut_off {
        settle_samples(file, scan, searches, test, observer)?;
    }
    Ok(())
}

fn settle_samples(
    file: &TableFile,
    scan: &mut Scan,
    mut searches: Vec<Search>,
    test: &Test,
    observer: &dyn Observer,
) -> Result<(), Error> {
    for _ in 0..MAX_PASSES {
        if searches.iter().all(|search| search.sought.is_empty()) {
            break;
        }
        if !pass(file, scan, &mut searches, test, observer)? {
            return Ok(());
        }
    }
    for Search { index, sought, found, .. } in searches {
        let column = scan.columns.get_mut(index).filter(|_| sought.is_empty());
        if let Some(numbers) = column.and_then(|(_, column)| column.stats_mut().numbers_mut()) {
            numbers.settle(found);
        }
    }
    Ok(())
}

/// What is looked for in one column.
struct Search {
    /// Among the columns of the scan.
    index: usize,
    typed: Typed,
    /// How many numbers there are.
    count: u64,
    sought: Vec<Sought>,
    found: Vec<(u64, Number)>,
}

/// The number with `rank` numbers before it, which lies within the bounds.
struct Sought {
    rank: u64,
    bounds: Bounds,
    /// Below the lower bound.
    below: u64,
    at_lower: u64,
    inside: Numbers,
    at_upper: u64,
}

/// Both belong to what they bound; `None` is no bound.
#[derive(Clone, Copy)]
struct Bounds {
    lower: Option<Number>,
    upper: Option<Number>,
}

impl Bounds {
    const NONE: Self = Self { lower: None, upper: None };
}

fn ranks(numbers: &Numbers, operations: &[Operation]) -> Vec<u64> {
    let mut ranks = Vec::new();
    if operations.contains(&Operation::Median) {
        ranks.extend(numbers.middle());
    }
    if operations.contains(&Operation::Quantiles) {
        ranks.extend(Operation::QUANTILES.map(|(_, percent)| numbers.rank_of(percent)));
    }
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

/// Bounds between which a sample has the rank with near certainty, and little else.
fn around(sample: &mut Numbers, rank: u64, within: Bounds) -> Bounds {
    let (kept, count) = (sample.kept(), sample.count().max(1));
    let place = u128::from(rank) * kept as u128 / u128::from(count);
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    // Six times the usual distance between a rank in a sample and that in the whole.
    let margin = 3 * kept.isqrt() + 16;
    let lower = place.checked_sub(margin).and_then(|place| sample.kept_at(place));
    let upper = sample.kept_at(place.saturating_add(margin));
    Bounds { lower: lower.or(within.lower), upper: upper.or(within.upper) }
}

/// Reads the file once; `false` where it came to no end, or is not what it was.
fn pass(
    file: &TableFile,
    scan: &mut Scan,
    searches: &mut [Search],
    test: &Test,
    observer: &dyn Observer,
) -> Result<bool, Error> {
    let mut table = file.open()?;
    let typed: Vec<&Typed> = searches.iter().map(|search| &search.typed).collect();
    let sought =
        searches.iter().map(|search| (0, search.sought.iter().map(Sought::fresh).collect()));
    let max_kept_bytes = file.cuts.max_kept_bytes;
    let mut narrowing = Narrowing { typed: &typed, sought: sought.collect(), test, max_kept_bytes };
    parts::read(&mut table, file, &mut narrowing, observer)?;
    let sought = narrowing.sought;
    if table.is_cut_off {
        return Ok(false);
    }
    let is_as_before = |(search, (count, _)): (&Search, &(u64, _))| search.count == *count;
    if table.oddities.changed_while_read || !searches.iter().zip(&sought).all(is_as_before) {
        scan.table.oddities.changed_while_read = true;
        return Ok(false);
    }
    for (search, (_, sought)) in searches.iter_mut().zip(sought) {
        search.sought.clear();
        for mut one in sought {
            match one.find() {
                Ok(number) => search.found.push((one.rank, number)),
                Err(bounds) => search.sought.push(Sought::new(one.rank, bounds)),
            }
        }
    }
    Ok(true)
}

impl Sought {
    fn new(rank: u64, bounds: Bounds) -> Self {
        Self { rank, bounds, below: 0, at_lower: 0, inside: Numbers::default(), at_upper: 0 }
    }

    fn fresh(&self) -> Self {
        Self::new(self.rank, self.bounds)
    }

    fn add(&mut self, number: Number) {
        let to_bound = |bound: Option<Number>| bound.map(|bound| number.compare(bound));
        match (to_bound(self.bounds.lower), to_bound(self.bounds.upper)) {
            (Some(Ordering::Less), _) => self.below += 1,
            (Some(Ordering::Equal), _) => self.at_lower += 1,
            (_, Some(Ordering::Greater)) => {}
            (_, Some(Ordering::Equal)) => self.at_upper += 1,
            (_, _) => self.inside.add(number),
        }
    }

    fn append(&mut self, later: Self) {
        self.below += later.below;
        self.at_lower += later.at_lower;
        self.inside.append(later.inside);
        self.at_upper += later.at_upper;
    }

    /// Narrower bounds where it has not been found.
    fn find(&mut self) -> Result<Number, Bounds> {
        let Bounds { lower, upper } = self.bounds;
        let (from_lower, inside, to_upper) = (self.below, self.inside.count(), self.at_upper);
        let Some(rank) = self.rank.checked_sub(from_lower) else {
            return Err(Bounds { lower: None, upper: lower });
        };
        let Some(rank) = rank.checked_sub(self.at_lower) else {
            return lower.ok_or(self.bounds);
        };
        if rank < inside {
            if self.inside.is_sample() {
                return Err(around(&mut self.inside, rank, self.bounds));
            }
            let found = usize::try_from(rank).ok().and_then(|rank| self.inside.kept_at(rank));
            return found.ok_or(self.bounds);
        }
        if rank - inside < to_upper {
            return upper.ok_or(self.bounds);
        }
        Err(Bounds { lower: upper, upper: None })
    }
}

/// One pass over all columns in which something is looked for.
struct Narrowing<'a> {
    typed: &'a [&'a Typed],
    /// How many numbers each column has had so far, and what is looked for in it.
    sought: Vec<(u64, Vec<Sought>)>,
    test: &'a Test,
    max_kept_bytes: usize,
}

impl Gather for Narrowing<'_> {
    fn fresh(&self) -> Self {
        let fresh =
            |(_, sought): &(u64, Vec<Sought>)| (0, sought.iter().map(Sought::fresh).collect());
        Self { sought: self.sought.iter().map(fresh).collect(), ..*self }
    }

    #[inline]
    fn add_row(&mut self, table: &TableReader) {
        if table.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            self.stay_within_memory();
        }
        if !self.test.matches(table) {
            return;
        }
        let row = table.row();
        for (typed, (count, sought)) in self.typed.iter().zip(&mut self.sought) {
            if let Cell::Number(number) = typed.read(row.field(typed.place)) {
                *count += 1;
                sought.iter_mut().for_each(|one| one.add(number));
            }
        }
    }

    fn can_append(&self, _: &Self) -> bool {
        true
    }

    fn append(&mut self, later: Self, _: u64) {
        for ((count, mine), (more, theirs)) in self.sought.iter_mut().zip(later.sought) {
            *count += more;
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.append(theirs));
        }
        self.stay_within_memory();
    }
}

impl Narrowing<'_> {
    fn stay_within_memory(&mut self) {
        let mut inside: Vec<&mut Numbers> = self
            .sought
            .iter_mut()
            .flat_map(|(_, sought)| sought)
            .map(|one| &mut one.inside)
            .collect();
        while inside.iter().map(|numbers| numbers.bytes()).sum::<usize>() > self.max_kept_bytes {
            let largest = inside.iter_mut().max_by_key(|numbers| numbers.bytes());
            let Some(numbers) = largest.filter(|numbers| numbers.can_be_thinned()) else {
                return;
            };
            numbers.thin();
        }
    }
}
