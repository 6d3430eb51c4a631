//! Random files and random edits against an oracle: every byte outside what an edit names stays.

use std::path::Path;

use proptest::prelude::*;

use crate::backend::{Access, Backend, Edit, EditFile, Error, Page, PageSize};

/// How a text becomes the bytes of a file.
#[derive(Debug, Clone, Copy)]
enum Form {
    Utf8,
    Utf8Bom,
    Utf16Le,
    Utf16Be,
    Latin1,
}

impl Form {
    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 | Self::Utf8Bom => text.as_bytes().to_vec(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            Self::Latin1 => text.chars().map(|one| u8::try_from(u32::from(one)).unwrap()).collect(),
        }
    }

    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 | Self::Latin1 => b"",
            Self::Utf8Bom => b"\xef\xbb\xbf",
            Self::Utf16Le => b"\xff\xfe",
            Self::Utf16Be => b"\xfe\xff",
        }
    }
}

fn form() -> impl Strategy<Value = Form> {
    prop_oneof![
        Just(Form::Utf8),
        Just(Form::Utf8Bom),
        Just(Form::Utf16Le),
        Just(Form::Utf16Be),
        Just(Form::Latin1),
    ]
}

/// Text of mixed line ends and blanks, in letters every form has. No final newline, as often.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-c\u{e4}\u{df} \t]{0,6}",
        2 => Just("\n".to_owned()),
        2 => Just("\r\n".to_owned()),
        1 => Just("\r".to_owned()),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn edit(dir: &Path, old: &str, new: &str, form: Form) -> Result<Vec<u8>, Error> {
    let backend = Backend::open(&[(dir.to_owned(), Access::ReadWrite)], &[])?;
    let edit = Edit { old: old.to_owned(), new: new.to_owned(), replace_all: false };
    let encoding = matches!(form, Form::Latin1).then(|| "latin1".to_owned());
    let path = "file".to_owned();
    backend.edit(&EditFile {
        path,
        edits: vec![edit],
        dry_run: false,
        if_match: None,
        encoding,
    })?;
    Ok(std::fs::read(dir.join("file")).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The middle of a file is replaced by its exact text: what is before and after it stays to
    /// the byte, and if the text is there twice nothing is done.
    #[test]
    fn an_exact_edit_leaves_all_around_it(
        form in form(), before in text(), old in text(), after in text(), new in "[x-z\u{e4} ]{0,8}",
    ) {
        let old = format!("|{old}|");
        let dir = super::scratch();
        let bytes = |middle: &str| {
            [form.mark(), &form.encode(&before), &form.encode(middle), &form.encode(&after)].concat()
        };
        std::fs::write(dir.path().join("file"), bytes(&old)).unwrap();
        let edited = edit(dir.path(), &old, &new, form);
        prop_assert_eq!(edited.unwrap(), bytes(&new));
    }

    /// However the edit and the file end their lines and indent them: the lines around stay to the
    /// byte, and so do blank lines and the end of the file.
    #[test]
    fn a_tolerant_edit_leaves_the_other_lines(
        form in form(),
        before in text(),
        lines in proptest::collection::vec("[a-c]{1,3}", 1..4),
        indent in "[ \t]{0,4}",
        line_end in prop_oneof![Just("\n"), Just("\r\n")],
        rest in text(),
    ) {
        let dir = super::scratch();
        let in_file: String =
            lines.iter().map(|line| format!("{indent}|{line}|{line_end}")).collect();
        let asked: String = lines.iter().map(|line| format!("|{line}|\n")).collect();
        let new: String = lines.iter().map(|line| format!("<{line}>\n")).collect();
        let right: String =
            lines.iter().map(|line| format!("{indent}<{line}>{line_end}")).collect();
        let bytes = |middle: &str| {
            let whole = format!("{before}\n{middle}{rest}");
            [form.mark(), &form.encode(&whole)].concat()
        };
        std::fs::write(dir.path().join("file"), bytes(&in_file)).unwrap();
        let edited = edit(dir.path(), &asked, &new, form);
        prop_assert_eq!(edited.unwrap(), bytes(&right));
    }

    /// Whatever is asked, a refusal changes nothing and an edit keeps a start and an end of the
    /// file that is longer than all but what it replaced.
    #[test]
    fn no_edit_of_anything_panics_or_loses_the_mark(
        form in form(), whole in text(), old in text(), new in text(),
    ) {
        let dir = super::scratch();
        let bytes = [form.mark(), &form.encode(&whole)].concat();
        std::fs::write(dir.path().join("file"), &bytes).unwrap();
        let edited = edit(dir.path(), &old, &new, form);
        let now = std::fs::read(dir.path().join("file")).unwrap();
        match edited {
            Err(_) => prop_assert_eq!(now, bytes),
            Ok(_) => prop_assert!(now.starts_with(form.mark())),
        }
    }

    /// However results are spread over threads, what is kept is where the sorted results begin.
    #[test]
    fn a_page_is_a_beginning(
        results in proptest::collection::btree_map("[a-c]{1,4}", (1_usize..30, 0_usize..3), 0..40),
        max_items in 1_usize..12,
        max_bytes in 1_usize..80,
        after in "[a-c]{0,2}",
    ) {
        let start = std::ops::Bound::Excluded(after.clone());
        let size = PageSize { max_items, max_bytes, start };
        let mut pages = [(); 3].map(|()| Page::new(size.clone()));
        for (key, (bytes, thread)) in &results {
            pages[*thread].add(key.clone(), (), *bytes);
        }
        let page = pages.into_iter().reduce(Page::merge).unwrap();
        prop_assert_eq!(page.total(), results.len() as u64);
        let is_cut = page.is_cut();
        let kept: Vec<String> = page.into_kept().into_keys().collect();
        let wanted: Vec<&String> = results.keys().filter(|key| **key > after).collect();
        prop_assert!(wanted.iter().zip(&kept).all(|(wanted, kept)| *wanted == kept), "{kept:?}");
        prop_assert_eq!(kept.len() < wanted.len(), is_cut);
        prop_assert!(!kept.is_empty() || wanted.is_empty());
    }

    /// A name of any bytes is listed in a spelling that leads back to it.
    #[test]
    fn any_name_can_be_sent_back(name in proptest::collection::vec(1_u8.., 1..20)) {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::OsStr::from_bytes(&name);
        let is_name = !name.as_bytes().contains(&b'/') && name != "." && name != "..";
        prop_assume!(is_name);
        let dir = super::scratch();
        std::fs::write(dir.path().join(name), "found").unwrap();
        let backend = Backend::open(&[(dir.path().to_owned(), Access::ReadOnly)], &[]).unwrap();
        let list = crate::backend::List {
            path: ".".to_owned(),
            order: crate::backend::Order::Name,
            with_details: false,
            skip: 0,
            max_entries: 9,
        };
        let listing = backend.list(&list).unwrap();
        let spelled = &listing.entries[0].name;
        prop_assert!(!spelled.contains(char::is_control), "{spelled:?}");
        prop_assert!(backend.read_whole(spelled, 100).is_ok(), "{spelled:?}");
    }
}
