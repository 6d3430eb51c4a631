//! Numbers by date, for lines: by day, or by month or year where days would be too many.

use std::collections::BTreeMap;

use super::super::column::Class;
use super::super::dates::DateFormat;
use super::super::filter::{Filter, Test};
use super::super::parts::{self, Gather};
use super::super::reader::{TableFile, TableReader};
use super::super::report::{Operation, Value};
use super::super::stats::Stats;
use super::super::tally::Wanted;
use super::super::typed::{self, Cell, Typed};
use super::super::{Error, Observer, exact};
use super::{Chart, Charting, numeric};

/// Year, month and day.
type Day = (u16, u8, u8);

/// Of each day with rows, their number and what is known of y.
type Days = BTreeMap<Day, (u64, Stats)>;

struct ByDay<'a> {
    test: &'a Test,
    dates: &'a Typed,
    format: DateFormat,
    y: Option<&'a Typed>,
    wanted: Wanted,
    days: Days,
    without_date: u64,
}

impl Gather for ByDay<'_> {
    fn fresh(&self) -> Self {
        Self { days: Days::new(), without_date: 0, ..*self }
    }

    fn add_row(&mut self, table: &TableReader) {
        if !self.test.matches(table) {
            return;
        }
        let cell = table.field(self.dates.place).unwrap_or_default();
        let Some(date) = self.format.parse(cell) else {
            self.without_date += 1;
            return;
        };
        let (rows, stats) = self.days.entry((date.year, date.month, date.day)).or_default();
        *rows += 1;
        let Some(y) = self.y else {
            return;
        };
        let cell = table.field(y.place);
        let class = match y.read(cell) {
            Cell::Null => Class::Empty,
            Cell::Number(number) => Class::Number(number),
            Cell::NonFinite => Class::NonFinite,
            Cell::Text(_) => Class::Text,
        };
        stats.add(cell.unwrap_or_default(), class, self.wanted, &|| table.records.line());
    }

    fn can_append(&self, later: &Self) -> bool {
        later.days.values().all(|(_, stats)| stats.is_mergeable())
    }

    fn append(&mut self, later: Self, lines_before: u64) {
        self.without_date += later.without_date;
        join(&mut self.days, later.days, lines_before, |day| day);
    }
}

fn join(days: &mut Days, later: Days, lines_before: u64, under: impl Fn(Day) -> Day) {
    for (day, (rows, stats)) in later {
        let (all_rows, all) = days.entry(under(day)).or_default();
        *all_rows += rows;
        all.append(stats, lines_before);
    }
}

pub(super) fn line(
    file: &TableFile,
    request: &Charting,
    observer: &dyn Observer,
) -> Result<Chart, Error> {
    let x = request.x()?;
    let aggregate = request.aggregate()?;
    let y = match &aggregate {
        Some(aggregate) => Some(numeric(file, &aggregate.column, observer)?),
        None => None,
    };
    let test = &Filter::compile(request.filter.as_ref(), file, observer)?;
    let place = file.open()?.place_of(x)?;
    let dates = typed::find_out(file, &[place], observer)?.into_iter().next();
    let Some((dates, format)) = dates.as_ref().and_then(|dates| Some((dates, dates.dates?))) else {
        return Err(Error::NotDates { column: x.to_owned() });
    };
    if format == DateFormat::Ambiguous {
        return Err(Error::AmbiguousDates { column: x.to_owned() });
    }
    let operation = aggregate.as_ref().map_or(Operation::Count, |aggregate| aggregate.operation);
    let wanted = Wanted::by(&[operation]);
    let mut by_day =
        ByDay { test, dates, format, y: y.as_ref(), wanted, days: Days::new(), without_date: 0 };
    let mut table = file.open()?;
    parts::read(&mut table, file, &mut by_day, observer)?;
    let name = aggregate
        .as_ref()
        .map_or("rows".to_owned(), |of| format!("{}({})", of.operation.name(), of.column));
    let (unit, days) = coarsened(by_day.days);
    let mut chart = Chart::of(request, &table, &[x, &name]);
    chart.title = format!("{name} by {x}");
    chart.points = days
        .iter()
        .map(|(day, (rows, stats))| {
            let answer = match aggregate {
                Some(_) => stats.answer(operation, true).map(|number| number.value),
                None => Some(exact::from_count(*rows)),
            };
            vec![Some(Value::Digits(shown(*day, unit))), answer]
        })
        .collect();
    if unit != Unit::Day {
        chart.assumptions.push(
            format!("the rows of a {unit:?} are one point, because there are too many days")
                .to_lowercase(),
        );
    }
    if by_day.without_date > 0 {
        chart
            .assumptions
            .push(format!("{} rows without a date are not shown", by_day.without_date));
    }
    Ok(chart)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Day,
    Month,
    Year,
}

fn coarsened(days: Days) -> (Unit, Days) {
    const MAX_POINTS: usize = 400;
    let under = |days: Days, under: fn(Day) -> Day| {
        let mut joined = Days::new();
        join(&mut joined, days, 0, under);
        joined
    };
    if days.len() <= MAX_POINTS {
        return (Unit::Day, days);
    }
    let months = under(days, |(year, month, _)| (year, month, 1));
    if months.len() <= MAX_POINTS {
        return (Unit::Month, months);
    }
    (Unit::Year, under(months, |(year, _, _)| (year, 1, 1)))
}

fn shown((year, month, day): Day, unit: Unit) -> String {
    match unit {
        Unit::Day => format!("{year:04}-{month:02}-{day:02}"),
        Unit::Month => format!("{year:04}-{month:02}"),
        Unit::Year => format!("{year:04}"),
    }
}

/// Days since the first of March of the year 0, for a date as [`shown`].
pub(super) fn day_number(text: &str) -> f64 {
    let mut parts = text.split('-').map(|part| part.parse::<i64>().unwrap_or(1));
    let mut next = || parts.next().unwrap_or(1);
    let (year, month, day) = (next(), next(), next());
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    (days + (153 * month + 2) / 5 + day - 1) as f64
}

pub(super) fn day_text(number: f64) -> String {
    let days = number.round().clamp(0.0, 4e6) as i64;
    let (century, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", year + century * 400)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_and_told() {
        for (text, number) in [
            ("0000-03-01", 0.0),
            ("1970-01-01", 719_468.0),
            ("2000-02-29", 730_484.0),
            ("2024-12-31", 739_556.0),
            ("9999-12-31", 3_652_364.0),
        ] {
            assert_eq!(day_number(text), number, "{text}");
            assert_eq!(day_text(number), text);
        }
        assert_eq!(day_number("2024-03"), day_number("2024-03-01"));
        let days = (0..800_000).map(f64::from);
        days.for_each(|day| assert_eq!(day_number(&day_text(day)), day));
    }
}
