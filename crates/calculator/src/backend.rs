//! Arithmetic and the count of countdowns. Nothing here knows MCP.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;

/// Nine decimal digits at a time, so that a product still fits into 64 bits.
const LIMB: u64 = 1_000_000_000;

/// What can go wrong, in words the model can act on.
#[derive(Debug, PartialEq)]
pub(crate) enum Error {
    /// The sum is beyond what a 64-bit float can hold.
    SumTooLarge,
    /// The countdown is empty or longer than allowed.
    TicksOutOfRange { max_ticks: u32 },
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::SumTooLarge => {
                f.write_str("The sum is too large for a number. Use smaller numbers.")
            }
            Self::TicksOutOfRange { max_ticks } => {
                write!(f, "A countdown has 1 to {max_ticks} ticks. Choose `from` in that range.")
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Backend {
    max_ticks: u32,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    running: AtomicU64,
    finished: AtomicU64,
}

/// How many countdowns there are.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Countdowns {
    pub(crate) running: u64,
    pub(crate) finished: u64,
}

impl Backend {
    pub(crate) const TIMES_TABLES: RangeInclusive<u32> = 1..=100;

    pub(crate) fn new(max_ticks: u32) -> Self {
        Self { max_ticks, counts: Arc::default() }
    }

    pub(crate) fn sum(a: f64, b: f64) -> Result<f64, Error> {
        let sum = a + b;
        if sum.is_finite() { Ok(sum) } else { Err(Error::SumTooLarge) }
    }

    /// `base` to the power of `exponent` in decimal: school multiplication, digit by digit.
    pub(crate) fn power(base: u32, exponent: u32) -> String {
        let mut digits: Vec<u64> = vec![1];
        for _ in 0..exponent {
            let mut carry = 0;
            for digit in &mut digits {
                let product = *digit * u64::from(base) + carry;
                *digit = product % LIMB;
                carry = product / LIMB;
            }
            if carry > 0 {
                digits.push(carry);
            }
        }
        let mut limbs = digits.iter().rev().skip_while(|limb| **limb == 0);
        let first = limbs.next().copied().unwrap_or_default().to_string();
        limbs.fold(first, |text, limb| text + &format!("{limb:09}"))
    }

    /// The first ten multiples of `number`, one a line.
    pub(crate) fn times_table(number: u32) -> Option<String> {
        if !Self::TIMES_TABLES.contains(&number) {
            return None;
        }
        let mut table = String::new();
        for factor in 1..=10 {
            writeln!(table, "{factor} × {number} = {}", factor * number).ok()?;
        }
        Some(table)
    }

    pub(crate) fn countdowns(&self) -> Countdowns {
        Countdowns {
            running: self.counts.running.load(Ordering::Relaxed),
            finished: self.counts.finished.load(Ordering::Relaxed),
        }
    }

    /// Counts a countdown as running until the returned value is dropped. `on_change` is called
    /// at both ends.
    pub(crate) fn start_countdown<F: Fn()>(
        &self,
        from: u32,
        on_change: F,
    ) -> Result<Running<F>, Error> {
        if !(1..=self.max_ticks).contains(&from) {
            return Err(Error::TicksOutOfRange { max_ticks: self.max_ticks });
        }
        self.counts.running.fetch_add(1, Ordering::Relaxed);
        on_change();
        Ok(Running { counts: Arc::clone(&self.counts), on_change })
    }
}

/// A countdown under way.
pub(crate) struct Running<F: Fn()> {
    counts: Arc<Counts>,
    on_change: F,
}

impl<F: Fn()> Drop for Running<F> {
    fn drop(&mut self) {
        self.counts.running.fetch_sub(1, Ordering::Relaxed);
        self.counts.finished.fetch_add(1, Ordering::Relaxed);
        (self.on_change)();
    }
}
