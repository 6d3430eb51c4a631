//! A large CSV file whose sums are known, because they are added up in whole numbers while it is
//! written. Ten columns with what real exports hold: zero-padded codes, prices, 17-digit ratios
//! with gaps, quoted commas, doubled quotes and line ends inside quotes.

use std::fs::File;
use std::io::{BufWriter, Result, Write};
use std::path::Path;

const HEADER: &[u8] = b"id,zip,qty,cents,price,ratio,category,city,timestamp,note\n";

/// What the file adds up to.
#[derive(Default)]
pub(crate) struct Truth {
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
    pub(crate) qty: i64,
    pub(crate) cents: i64,
    /// In hundredths.
    pub(crate) price: i64,
}

impl Truth {
    /// The sum of the prices as an exact decimal number.
    pub(crate) fn price_decimal(&self) -> String {
        let cents = self.price.unsigned_abs();
        let sign = if self.price < 0 { "-" } else { "" };
        let fraction = format!("{:02}", cents % 100);
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{point}{fraction}", cents / 100)
    }
}

/// Writes whole rows until the file has at least this many bytes; the same size gives the same file.
pub(crate) fn write(path: &Path, min_bytes: u64) -> Result<Truth> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let mut random = Random(42);
    let mut truth = Truth::default();
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
    let price = random.below(1_000_000) as i64;
    truth.qty += qty;
    truth.cents += cents;
    truth.price += price;
    write!(row, "{},{:05},{qty},{cents},", truth.rows, random.below(100_000))?;
    write!(row, "{}.{:02},", price / 100, price % 100)?;
    if random.below(50) > 0 {
        write!(row, "0.{:017}", random.below(100_000_000_000_000_000))?;
    }
    write!(row, ",category-{:02},", random.below(20))?;
    let city = random.below(5_000);
    if city.is_multiple_of(10) {
        write!(row, "\"City {city}, North\",")?;
    } else {
        write!(row, "City {city},")?;
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
            let truth = Truth { price: hundredths, ..Truth::default() };
            assert_eq!(truth.price_decimal(), expected);
        }
    }
}
