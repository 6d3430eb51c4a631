//! The conformance engine.
