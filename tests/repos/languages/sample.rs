//! A crate that shows what Rust declares.

use std::fmt;

mod other;

/// How many.
pub const LIMIT: usize = 10;
static mut COUNT: usize = 0;

/// A point.
#[derive(Debug, Clone)]
pub struct Point<T> {
    x: T,
}

impl<T: fmt::Debug> Point<T> {
    const ZERO: i32 = 0;

    /// Makes one.
    #[inline]
    pub fn new(x: T) -> Self {
        fn helper() {}
        Point { x }
    }
}

impl fmt::Display for Point<i32> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.x)
    }
}

pub trait Shape {
    type Unit;
    fn area(&self) -> f64;
}

macro_rules! square {
    ($x:expr) => {
        $x * $x
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn works() {}
}
