//! Limits the number of connections, in total and for each address.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

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
    by_address: BTreeMap<IpAddr, usize>,
}

/// The place of one connection. The drop of this value releases the place.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    address: IpAddr,
}

impl Places {
    pub(super) fn new(max: usize, max_per_address: usize) -> Arc<Self> {
        Arc::new(Self { taken: Mutex::default(), max, max_per_address })
    }

    /// Takes a place for a connection from this address. Returns `None` if no place is free.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = group(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.by_address.get(&address).copied().unwrap_or(0);
        if taken.all >= self.max || count >= self.max_per_address {
            return None;
        }
        taken.all += 1;
        taken.by_address.insert(address, count + 1);
        Some(Place { places: Arc::clone(self), address })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all = taken.all.saturating_sub(1);
        if let Some(count) = taken.by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                taken.by_address.remove(&self.address);
            }
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
        let one = places.take(first).ok_or("no place")?;
        let _two = places.take("::ffff:10.0.0.1".parse()?).ok_or("no place")?;
        assert!(places.take(first).is_none(), "a third connection from the same address must not get a place");
        let _three = places.take(second).ok_or("no place")?;
        assert!(places.take(third).is_none(), "a fourth connection in total must not get a place");
        drop(one);
        let _four = places.take(third).ok_or("the place was not released")?;
        Ok(())
    }

    #[test]
    fn addresses_of_one_ipv6_network_count_together() -> Result<(), Box<dyn std::error::Error>> {
        let places = Places::new(10, 1);
        let _one = places.take("2001:db8:0:1::1".parse()?).ok_or("no place")?;
        assert!(places.take("2001:db8:0:1:ffff::2".parse()?).is_none());
        assert!(places.take("2001:db8:0:2::1".parse()?).is_some());
        Ok(())
    }
}
