//! Names in SQL, as PostgreSQL reads them.

use crate::backend::names;

#[test]
fn names_are_found_where_postgresql_finds_them() {
    for (sql, right) in [
        ("SELECT a.B", &["select", "a", "b"][..]),
        (r#"SELECT "pg_Read""x""#, &["select", "pg_Read\"x"]),
        (r#"U&"pg\005fread""#, &["pg_read"]),
        (r#"u&"pg!005fread" /* c */ UESCAPE '!' x"#, &["pg_read", "uescape", "x"]),
        (r#"U&"\+000070g\\""#, &["pg\\"]),
        ("'a''b' c", &["c"]),
        (r"'a\' b", &["b"]),
        (r"E'a\' b' c", &["c"]),
        (r"e'\\' c", &["c"]),
        ("E'a'\n'b\\'' c' d", &["c"]),
        ("E'a' -- x\n  'b\\'c' d", &["d"]),
        ("E'a' 'b\\' c", &["c"]),
        ("N'a' b", &["b"]),
        ("U&'a' b", &["b"]),
        ("x$$ $$b$$ c", &["x$$", "c"]),
        ("$$a$$ b", &["b"]),
        ("$t$ $$ a $t$ b", &["b"]),
        ("$é$ a $é$ b", &["b"]),
        ("$1 a $2", &["a"]),
        ("$$ a", &[]),
        ("-- a\nb", &["b"]),
        ("-- a\rb", &["b"]),
        ("/* /* a */ b */ c", &["c"]),
        ("/* a", &[]),
        ("1e5 a", &["a"]),
        ("über", &["über"]),
        ("'open", &[]),
        ("\"open", &["open"]),
    ] {
        assert_eq!(names(sql), right, "{sql}");
    }
}
