//! Limits the number of connections, in total and for each address.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The number of low bits of an IPv6 address that a single user can choose.
const HOST_BITS: u32 = 64;

/// Limits the connections of a server. Each open connection has a [`Place`].
#[derive(Debug)]
pub(super) struct Places {
    taken: Mutex<Taken>,
    max: usize,
    max_per_address: usize,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_address: BTreeMap<IpAddr, OfAddress>,
    /// The connections whose request is incomplete, in the order of their beginning.
    waiting: BTreeMap<u64, Waiting>,
    next_number: u64,
}

/// The count of all connections of one address, and the numbers of those whose request is incomplete.
#[derive(Debug, Default)]
struct OfAddress {
    all: usize,
    waiting: BTreeSet<u64>,
}

#[derive(Debug)]
struct Waiting {
    address: IpAddr,
    lost: Arc<Notify>,
}

/// The place of one connection. The drop of this value releases the place.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    address: IpAddr,
    number: u64,
    /// Whether a complete request has arrived while the connection had its place.
    is_kept: AtomicBool,
    lost: Arc<Notify>,
}

impl Places {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::default(), max, max_per_address })
    }

    /// Takes a place for a connection from this address. If no place is free, the connection whose request has been
    /// incomplete for the longest time loses its place. Returns `None` if there is no such connection.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = group(address);
        let mut taken = self.lock();
        let of_address = taken.by_address.get(&address);
        if of_address.is_some_and(|of_address| of_address.all >= self.max_per_address) {
            let oldest = of_address.and_then(|of_address| of_address.waiting.first()).copied()?;
            taken.evict(oldest);
        } else if taken.all >= self.max {
            let oldest = taken.waiting.first_key_value().map(|(number, _)| *number)?;
            taken.evict(oldest);
        }
        let number = taken.next_number;
        let lost = Arc::new(Notify::new());
        taken.next_number += 1;
        taken.all += 1;
        taken.waiting.insert(number, Waiting { address, lost: Arc::clone(&lost) });
        let of_address = taken.by_address.entry(address).or_default();
        of_address.all += 1;
        of_address.waiting.insert(number);
        Some(Place { places: Arc::clone(self), address, number, is_kept: AtomicBool::new(false), lost })
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Takes the place away from a connection whose request is incomplete.
    fn evict(&mut self, number: u64) {
        if let Some(Waiting { address, lost }) = self.end_wait(number) {
            self.release(address);
            lost.notify_one();
        }
    }

    /// Removes a connection from those whose request is incomplete. Returns `None` if it has lost its place.
    fn end_wait(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        if let Some(of_address) = self.by_address.get_mut(&waiting.address) {
            of_address.waiting.remove(&number);
        }
        Some(waiting)
    }

    fn release(&mut self, address: IpAddr) {
        self.all = self.all.saturating_sub(1);
        if let Some(of_address) = self.by_address.get_mut(&address) {
            of_address.all = of_address.all.saturating_sub(1);
            if of_address.all == 0 {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Place {
    /// Keeps the place until the drop of this value, because a request is complete. Returns whether the connection has
    /// its place.
    pub(super) fn keep(&self) -> bool {
        if self.is_kept.load(Ordering::Relaxed) {
            return true;
        }
        let is_kept = self.places.lock().end_wait(self.number).is_some();
        self.is_kept.store(is_kept, Ordering::Relaxed);
        is_kept
    }

    /// Returns the signal that the connection has lost its place.
    pub(super) fn lost(&self) -> Arc<Notify> {
        Arc::clone(&self.lost)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if *self.is_kept.get_mut() || taken.end_wait(self.number).is_some() {
            taken.release(self.address);
        }
    }
}

/// Returns the address by which connections are counted. For IPv6, the returned address is the address of the network,
/// because one user may have all addresses of a network.
fn group(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> HOST_BITS << HOST_BITS).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::Places;

    #[test]
    fn connections_are_limited_in_total_and_per_address() -> Result<(), Box<dyn std::error::Error>> {
        let [first, second, third] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(str::parse::<IpAddr>);
        let (first, second, third) = (first?, second?, third?);
        let places = Places::new(3, 2);
        let take = |address| {
            places.take(address).inspect(|place| {
                assert!(place.keep());
            })
        };
        let one = take(first).ok_or("no place")?;
        let _two = take("::ffff:10.0.0.1".parse()?).ok_or("no place")?;
        assert!(take(first).is_none(), "a third connection from the same address must not get a place");
        let _three = take(second).ok_or("no place")?;
        assert!(take(third).is_none(), "a fourth connection in total must not get a place");
        drop(one);
        let _four = take(third).ok_or("the place was not released")?;
        Ok(())
    }

    #[test]
    fn the_oldest_connection_with_an_incomplete_request_loses_its_place() -> Result<(), Box<dyn std::error::Error>> {
        let [first, second, third] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(str::parse::<IpAddr>);
        let (first, second, third) = (first?, second?, third?);
        let places = Places::new(4, 3);
        let kept = places.take(first).ok_or("no place")?;
        assert!(kept.keep());
        let oldest = places.take(second).ok_or("no place")?;
        let later = places.take(first).ok_or("no place")?;
        let last = places.take(first).ok_or("no place")?;
        // The address is full, so a connection of the same address loses its place.
        let next = places.take(first).ok_or("no place")?;
        assert!(!later.keep());
        // All places are taken, so the oldest connection of any address loses its place.
        let other = places.take(third).ok_or("no place")?;
        assert!(!oldest.keep());
        // A lost place is not released again.
        drop((later, oldest));
        assert!(last.keep() && next.keep() && other.keep());
        assert!(places.take(first).is_none() && places.take(second).is_none());
        drop(kept);
        let again = places.take(second);
        assert!(again.is_some() && places.take(third).is_some());
        drop((last, next, other, again));
        let taken = places.lock();
        assert_eq!((taken.all, taken.by_address.len(), taken.waiting.len()), (0, 0, 0));
        Ok(())
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() -> Result<(), Box<dyn std::error::Error>> {
        let places = Places::new(10, 1);
        let one = places.take("2001:db8:0:1::1".parse()?).ok_or("no place")?;
        assert!(one.keep());
        assert!(places.take("2001:db8:0:1:ffff::2".parse()?).is_none());
        assert!(places.take("2001:db8:0:2::1".parse()?).is_some());
        Ok(())
    }
}
