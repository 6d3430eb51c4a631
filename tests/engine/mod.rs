//! The engine against a server whose faults are known.

mod defects;
mod reports;
mod schemas;
