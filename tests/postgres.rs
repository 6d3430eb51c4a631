//! The throw-away database of the PostgreSQL server is described once for the server's own tests,
//! which must run in a copied folder too, and once for the demo and the conformance checks.

use std::fs;

use crate::built::workspace;

#[test]
fn both_descriptions_of_the_database_are_the_same() {
    let read = |path: &str| fs::read_to_string(workspace().join(path)).unwrap();
    let own = read("crates/postgres/src/tests/cluster.rs");
    assert!(own == read("tests/src/cluster.rs"), "copy crates/postgres/src/tests/cluster.rs");
}
