//! Which character stands before the decimals of a column.

/// The decimal mark of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) enum Mark {
    #[default]
    Point,
    Comma,
    /// Either is possible until the first number has one: a file split at semicolons.
    Undecided,
}

impl Mark {
    pub(in super::super) fn byte(self) -> u8 {
        match self {
            Self::Point => b'.',
            Self::Comma => b',',
            // A digit is never found where a mark is looked for, so nothing matches this.
            Self::Undecided => b'0',
        }
    }
}
