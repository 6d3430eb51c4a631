//! The engine against a server whose faults are known.

mod defects;
mod http_defects;
mod reports;
mod schemas;
