//! A large CSV file whose sums are known, because they are added up in whole numbers while it is
//! written. Ten columns with what real exports hold: zero-padded codes, prices, 17-digit ratios
//! with gaps, quoted commas, doubled quotes and line ends inside quotes.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

const HEADER: &[u8] = b"id,zip,qty,cents,price,ratio,category,city,timestamp,note\n";

const CATEGORIES: usize = 20;
const CITIES: usize = 5_000;
/// In hundredths.
const PRICES: usize = 1_000_000;

/// What is in the file.
pub(crate) struct Truth {
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) qty: i64,
    pub(crate) cents: i64,
    /// The sum of the prices, in hundredths.
    pub(crate) price: i64,
    /// Rows of each category, and the sum of their prices in hundredths.
    pub(crate) categories: Vec<(u64, i64)>,
    /// Rows of each city.
    pub(crate) cities: Vec<u64>,
    /// Rows of each price.
    prices: Vec<u64>,
}

impl Truth {
    fn new() -> Self {
        Self {
            bytes: 0,
            rows: 0,
            qty: 0,
            cents: 0,
            price: 0,
            categories: vec![(0, 0); CATEGORIES],
            cities: vec![0; CITIES],
            prices: vec![0; PRICES],
        }
    }

    /// Of the prices, in hundredths and doubled, so that it is a whole number.
    pub(crate) fn doubled_median(&self) -> i64 {
        self.price_at(self.rows.saturating_sub(1) / 2) + self.price_at(self.rows / 2)
    }

    fn count(&mut self, category: u64, city: u64, price: i64) {
        if let Some((rows, sum)) = self.categories.get_mut(category as usize) {
            (*rows, *sum) = (*rows + 1, *sum + price);
        }
        let counts = [(&mut self.cities, city), (&mut self.prices, price.unsigned_abs())];
        for (counts, place) in counts {
            counts.get_mut(place as usize).into_iter().for_each(|rows| *rows += 1);
        }
    }

    fn price_at(&self, rank: u64) -> i64 {
        let mut passed = 0;
        let place = self.prices.iter().position(|rows| {
            passed += rows;
            passed > rank
        });
        place.map_or(0, |price| price as i64)
    }

    /// The most frequent city, and how many rows it has.
    pub(crate) fn top_city(&self) -> (String, u64) {
        let most = self.cities.iter().copied().max().unwrap_or(0);
        let city = self.cities.iter().position(|rows| *rows == most).unwrap_or(0);
        (city_name(city as u64), most)
    }
}

/// As an exact decimal number without trailing zeros.
pub(crate) fn decimal(hundredths: i64) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    let magnitude = hundredths.unsigned_abs();
    let fraction = format!("{:02}", magnitude % 100);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{fraction}", magnitude / 100)
}

/// Every tenth has a comma in it.
fn city_name(city: u64) -> String {
    let quarter = if city.is_multiple_of(10) { ", North" } else { "" };
    format!("City {city}{quarter}")
}

/// Writes whole rows until the file has at least this many bytes; the same size gives the same file.
pub(crate) fn write(path: &Path, min_bytes: u64) -> Result<Truth> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random(42);
    let mut truth = Truth::new();
    let mut row = HEADER.to_vec();
    loop {
        file.write_all(&row)?;
        truth.bytes += row.len() as u64;
        if truth.bytes >= min_bytes {
            file.flush()?;
            return Ok(truth);
        }
        row.clear();
        write_row(&mut row, &mut random, &mut truth)?;
    }
}

fn write_row(row: &mut Vec<u8>, random: &mut Random, truth: &mut Truth) -> Result<()> {
    truth.rows += 1;
    let qty = random.below(100) as i64;
    let cents = random.below(2_000_001) as i64 - 1_000_000;
    let price = random.below(PRICES as u64) as i64;
    truth.qty += qty;
    truth.cents += cents;
    truth.price += price;
    write!(row, "{},{:05},{qty},{cents},", truth.rows, random.below(100_000))?;
    write!(row, "{}.{:02},", price / 100, price % 100)?;
    if random.below(50) > 0 {
        write!(row, "0.{:017}", random.below(100_000_000_000_000_000))?;
    }
    let category = random.below(CATEGORIES as u64);
    let city = random.below(CITIES as u64);
    truth.count(category, city, price);
    write!(row, ",category-{category:02},")?;
    match city_name(city) {
        name if name.contains(',') => write!(row, "\"{name}\",")?,
        name => write!(row, "{name},")?,
    }
    let (day, second) = (random.below(28) + 1, random.below(86_400));
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    write!(row, "2026-{:02}-{day:02}T", random.below(12) + 1)?;
    write!(row, "{hour:02}:{minute:02}:{:02}Z,", second % 60)?;
    row.extend_from_slice(match random.below(10) {
        0 => b"\"said \"\"fine\"\" twice\"\n",
        1 => b"\"first line\nsecond line\"\n",
        2 => b"\n",
        _ => b"plain note\n",
    });
    Ok(())
}

/// SplitMix64: a few lines, well spread, and the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_written_exactly() {
        for (hundredths, expected) in
            [(0, "0"), (5, "0.05"), (150, "1.5"), (12_300, "123"), (-205, "-2.05")]
        {
            assert_eq!(decimal(hundredths), expected);
        }
    }

    #[test]
    fn the_middle_of_the_prices_is_found() {
        for (prices, doubled) in [(vec![7], 14), (vec![1, 2], 3), (vec![9, 1, 4, 4], 8)] {
            let mut truth = Truth::new();
            for price in prices {
                truth.rows += 1;
                truth.count(0, 0, price);
            }
            assert_eq!(truth.doubled_median(), doubled);
        }
    }
}
