//! Tests of identity as a whole, Python being the oracle.

mod key;
