//! A Fenwick tree: sums of a growing list of numbers, each in logarithmic time.

use alloc::vec::Vec;

/// A pair of numbers that are summed separately: rows, and height.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of rows.
    pub rows: u32,
    /// The height, in 64ths of a pixel.
    pub height: u64,
}

impl Extent {
    const fn plus(self, other: Self) -> Self {
        Self { rows: self.rows.wrapping_add(other.rows), height: self.height.wrapping_add(other.height) }
    }

    const fn minus(self, other: Self) -> Self {
        Self { rows: self.rows.wrapping_sub(other.rows), height: self.height.wrapping_sub(other.height) }
    }
}

/// A list of extents with their sums.
#[derive(Clone, Debug, Default)]
pub struct Fenwick {
    /// The node with the number `n`, from 1 on, has the sum of the `lowest_bit(n)` extents up to the `n`th. It is at
    /// the index `n - 1`.
    nodes: Vec<Extent>,
    total: Extent,
}

impl Fenwick {
    /// Returns the number of extents.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the sum of all extents.
    #[must_use]
    pub const fn total(&self) -> Extent {
        self.total
    }

    /// Adds an extent at the end.
    pub fn push(&mut self, extent: Extent) {
        let number = self.nodes.len() + 1;
        let mut sum = extent;
        let mut step = 1;
        while step < lowest_bit(number) {
            sum = sum.plus(self.nodes.get(number - step - 1).copied().unwrap_or_default());
            step <<= 1;
        }
        self.nodes.push(sum);
        self.total = self.total.plus(extent);
    }

    /// Replaces the extent `old` at `index` by `new`.
    pub fn replace(&mut self, index: usize, old: Extent, new: Extent) {
        if index >= self.nodes.len() {
            return;
        }
        let mut number = index + 1;
        while let Some(node) = self.nodes.get_mut(number - 1) {
            *node = node.plus(new).minus(old);
            number += lowest_bit(number);
        }
        self.total = self.total.plus(new).minus(old);
    }

    /// Returns the sum of the first `count` extents.
    #[must_use]
    pub fn before(&self, count: usize) -> Extent {
        let mut number = count.min(self.nodes.len());
        let mut sum = Extent::default();
        while let Some(node) = number.checked_sub(1).and_then(|index| self.nodes.get(index)) {
            sum = sum.plus(*node);
            number -= lowest_bit(number);
        }
        sum
    }

    /// Returns the largest number of extents at the start of the list whose sum is within a limit. `is_within` returns
    /// whether a sum is within the limit. The result is also the index of the first extent beyond the limit.
    #[must_use]
    pub fn find(&self, is_within: impl Fn(Extent) -> bool) -> usize {
        let mut count = 0;
        let mut sum = Extent::default();
        let mut step = self.nodes.len().checked_next_power_of_two().unwrap_or_default();
        while step > 0 {
            if let Some(node) = self.nodes.get(count + step - 1) {
                let next = sum.plus(*node);
                if is_within(next) {
                    sum = next;
                    count += step;
                }
            }
            step >>= 1;
        }
        count
    }
}

const fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}
