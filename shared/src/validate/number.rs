//! Numbers as JSON Schema sees them: 1.0 is a whole number, and large ones keep every digit.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Compares by value, exactly where both are whole.
pub(super) fn compare(left: &Number, right: &Number) -> Ordering {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => {
            let float = |number: &Number| number.as_f64().unwrap_or_default();
            float(left).total_cmp(&float(right))
        }
    }
}

pub(super) fn is_whole(number: &Number) -> bool {
    whole(number).is_some() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

/// Writes 1.0 as 1 wherever it stands, which is what parsing into whole numbers of Rust wants.
/// `true` if there was anything to write.
pub(crate) fn write_whole_numbers(value: &mut Value) -> bool {
    let fold = |changed, value| write_whole_numbers(value) || changed;
    match value {
        Value::Number(number) if number.is_f64() => {
            let Some(whole) = whole(number).and_then(Number::from_i128) else {
                return false;
            };
            *number = whole;
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, fold),
        Value::Object(members) => members.values_mut().fold(false, fold),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Number(_) => false,
    }
}

/// The value, if it is whole and not beyond what an `i64` or a `u64` holds.
fn whole(number: &Number) -> Option<i128> {
    const END: f64 = u64::MAX as f64;
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        let fits = float.fract() == 0.0 && (i64::MIN as f64..END).contains(&float);
        fits.then_some(float as i128)
    })
}
