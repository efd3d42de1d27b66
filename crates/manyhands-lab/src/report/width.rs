//! How wide text may be.

/// Columns of a terminal, between [`Width::NARROWEST`] and [`Width::WIDEST`].
///
/// # Examples
/// ```
/// use manyhands_lab::report::Width;
/// assert_eq!((Width::of(80).columns(), Width::default().columns()), (80, 100));
/// assert_eq!(Width::of(10), Width::NARROWEST);
/// let text = Width::NARROWEST.paragraph("E3  ", "SHA-512 of one text n times, results stored", "    ");
/// assert_eq!(text, "E3  SHA-512 of one text n times, results\n    stored\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Width(u16);

impl Width {
    /// Narrower terminals break lines themselves.
    pub const NARROWEST: Self = Self(40);
    /// Longer lines are hard to read.
    pub const WIDEST: Self = Self(200);

    /// The width of a terminal with this many columns, or the nearest there is.
    #[must_use]
    pub fn of(columns: u16) -> Self {
        Self(columns.clamp(Self::NARROWEST.0, Self::WIDEST.0))
    }

    /// Columns.
    #[must_use]
    pub fn columns(self) -> usize {
        usize::from(self.0)
    }

    /// A paragraph in lines that fit: the first begins with `first`, the others with `rest`.
    ///
    /// Example: see [`Width`].
    #[must_use]
    pub fn paragraph(self, first: &str, text: &str, rest: &str) -> String {
        let options = textwrap::Options::new(self.columns())
            .initial_indent(first)
            .subsequent_indent(rest);
        textwrap::fill(text, options) + "\n"
    }

    /// A paragraph in lines that fit.
    pub(crate) fn wrapped(self, sentence: &str) -> String {
        self.paragraph("", sentence, "")
    }

    /// A paragraph whose lines but the first are indented.
    pub(super) fn hanging(self, sentence: &str) -> String {
        self.paragraph("", sentence, "  ")
    }
}

/// Of text that no terminal is known for.
impl Default for Width {
    fn default() -> Self {
        Self(100)
    }
}
