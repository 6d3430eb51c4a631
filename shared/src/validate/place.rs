//! Where in the arguments a value stands. A chain of borrowed links: its words are put together
//! only for the few places where something is wrong.

use super::words::shortened;

/// One step further in than its outer place.
#[derive(Debug, Clone, Copy)]
pub(super) enum Place<'p> {
    /// The arguments as a whole.
    Root,
    Member(&'p Place<'p>, &'p str),
    Item(&'p Place<'p>, usize),
}

/// Steps named; of a deeper place the last ones.
const MAX_STEPS: usize = 12;

impl Place<'_> {
    /// For the beginning of a sentence.
    pub(super) fn in_words(&self) -> String {
        let mut steps = Vec::new();
        let mut place = self;
        while let Some((outer, step)) = place.last_step() {
            if steps.len() == MAX_STEPS {
                steps.push("…".to_owned());
                break;
            }
            steps.push(step);
            place = outer;
        }
        if steps.is_empty() {
            return "the arguments".to_owned();
        }
        steps.reverse();
        format!("`{}`", steps.concat().trim_start_matches('.'))
    }

    fn last_step(&self) -> Option<(&Place<'_>, String)> {
        match self {
            Self::Root => None,
            Self::Member(outer, name) => Some((outer, format!(".{}", shortened(name)))),
            Self::Item(outer, index) => Some((outer, format!("[{index}]"))),
        }
    }
}
