//! Through the same server value as `main`, over the memory transport.
