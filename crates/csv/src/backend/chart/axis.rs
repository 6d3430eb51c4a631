//! Axes with round numbers on them. What is drawn is counted in steps of the axis, so that numbers of
//! any size are small ones to whatever draws them.

use super::super::exact;
use super::super::report::Value;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    /// The lowest number, in steps from zero.
    first: f64,
    step: f64,
    pub(super) steps: u32,
}

/// What rounding may have taken from a number of steps.
const EDGE: f64 = 1e-9;

impl Axis {
    /// About `max_steps` steps or half as many, with `max` inside the last one.
    pub(super) fn around(min: f64, max: f64, max_steps: u32) -> Self {
        let (min, max) = (clamp(min), clamp(max));
        let span = max - min;
        let span = if span > 0.0 { span } else { max.abs().max(1.0) };
        // Finer steps than this are no different numbers.
        let finest = max.abs().max(min.abs()) * 1e-12;
        let step = round_up((span / f64::from(max_steps)).max(finest).max(1e-250));
        let first = (min / step + EDGE).floor();
        let last = ((max / step + EDGE).floor() + 1.0).max(first + 1.0);
        Self { first, step, steps: (last - first).min(1000.0) as u32 }
    }

    /// Of steps that are known.
    pub(super) fn of_steps(start: f64, step: f64, steps: u32) -> Self {
        let step = step.max(1e-250);
        Self { first: (start / step).round(), step, steps: steps.max(1) }
    }

    /// The step a number is in. One on an edge is in the upper one, though 0.3 / 0.1 is below 3.
    pub(super) fn step_of(&self, value: f64) -> usize {
        (self.at(value) + EDGE) as usize
    }

    /// In steps from the start.
    pub(super) fn at(&self, value: f64) -> f64 {
        (clamp(value) / self.step - self.first).clamp(0.0, f64::from(self.steps))
    }

    pub(super) fn value(&self, step: u32) -> Value {
        let number = self.number(f64::from(step));
        if number.fract() == 0.0 && number.abs() < 1e15 {
            return Value::Integer(number as i64);
        }
        exact::from_f64(number)
    }

    /// Without the tail that binary fractions have: 0.3, not 0.30000000000000004.
    fn number(&self, step: f64) -> f64 {
        let number = (self.first + step) * self.step;
        format!("{number:.12e}").parse().unwrap_or(number)
    }

    pub(super) fn label(&self, step: f64) -> String {
        let number = self.number(step);
        match number.abs() {
            size if size == 0.0 || (1e-4..1e7).contains(&size) => number.to_string(),
            _ => format!("{number:e}"),
        }
    }
}

/// Leaves room to compute with.
fn clamp(value: f64) -> f64 {
    value.clamp(-1e250, 1e250)
}

/// To 1, 2 or 5 times a power of ten.
fn round_up(step: f64) -> f64 {
    let power = 10f64.powi(step.log10().floor() as i32);
    let factors = [1.0, 2.0, 5.0, 10.0];
    let fits = |factor: &&f64| *factor * power >= step * (1.0 - 1e-9);
    factors.iter().find(fits).unwrap_or(&10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_round_and_hold_all_there_is() {
        for (min, max, labels) in [
            (0.0, 10.0, vec!["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]),
            (0.1, 0.7, vec!["0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8"]),
            (5.0, 5.0, vec!["5", "5.5"]),
            (0.0, 0.0, vec!["0", "0.1"]),
            (-3e8, 9e8, vec!["-4e8", "-2e8", "0", "2e8", "4e8", "6e8", "8e8", "1e9"]),
        ] {
            let axis = Axis::around(min, max, 10);
            let got: Vec<String> =
                (0..=axis.steps).map(|step| axis.label(f64::from(step))).collect();
            assert_eq!(got, labels, "{min} to {max}: {axis:?}");
        }
        for (min, max) in [(-1e308, 1e308), (1e300, 1e300), (1e17, 1e17 + 64.0), (-1e-300, 1e-300)]
        {
            let axis = Axis::around(min, max, 10);
            assert!((1..=20).contains(&axis.steps), "{min} to {max}: {axis:?}");
            for value in [min, max] {
                assert!(
                    (0.0..=f64::from(axis.steps)).contains(&axis.at(value)),
                    "{value} on {axis:?}"
                );
            }
        }
    }
}
