//! Places for connections: 128 in all, and a quarter of them for each other machine, so that none keeps the others out.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

/// How many connections there are, by where they come from. An address without any is not kept.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// The place of one connection, which is given back when this is dropped.
pub(super) struct Place {
    places: Places,
    peer: IpAddr,
}

impl Places {
    /// A place for a connection from this address; `None` if there are too many.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let peer = peer_of(address);
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_peer = counts.get(&peer).copied().unwrap_or(0);
        // What comes from this machine can come through a tunnel or a proxy, for many people.
        let is_full = !peer.is_loopback() && of_peer >= OF_PEER_MAX;
        if is_full || counts.values().sum::<usize>() >= CONNECTIONS_MAX {
            return None;
        }
        counts.insert(peer, of_peer + 1);
        drop(counts);
        let places = self.clone();
        Some(Place { places, peer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.peer) {
            *count -= 1;
        }
        counts.retain(|_, count| *count > 0);
    }
}

/// What counts as one machine: an address of version 4, however it is written, or a network of 64 bits of version 6, in which
/// a machine chooses its addresses.
fn peer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            let network = u128::MAX << 64;
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & network))
        }
        address => address,
    }
}

pub(super) const CONNECTIONS_MAX: usize = 2 * super::live::LIVE_MAX;
const OF_PEER_MAX: usize = CONNECTIONS_MAX / 4;

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS_MAX, OF_PEER_MAX, Place, Places};

    /// As many places as these addresses get, one after the other.
    fn take<'a>(places: &Places, addresses: impl Iterator<Item = &'a str>) -> Vec<Place> {
        let taken = addresses.map(|address| places.take(address.parse().unwrap()));
        taken.flatten().collect()
    }

    fn taken_from(places: &Places, address: &str) -> Vec<Place> {
        take(places, [address; CONNECTIONS_MAX + 1].into_iter())
    }

    #[test]
    fn a_machine_has_a_quarter_of_the_places_and_the_others_find_theirs() {
        let places = Places::default();
        let flood = taken_from(&places, "192.0.2.7");
        assert_eq!(flood.len(), OF_PEER_MAX);
        let other = taken_from(&places, "192.0.2.8");
        assert_eq!(other.len(), OF_PEER_MAX, "another machine is kept out");
        drop(flood);
        assert_eq!(taken_from(&places, "192.0.2.7").len(), OF_PEER_MAX);
    }

    #[test]
    fn one_machine_has_many_addresses_of_version_6() {
        let places = Places::default();
        let own = ["2001:db8::1", "2001:db8::2:3", "2001:db8::ffff:0:0:4"];
        let flood = take(&places, own.into_iter().cycle().take(CONNECTIONS_MAX));
        assert_eq!(flood.len(), OF_PEER_MAX);
        assert!(places.take("2001:db8:0:1::1".parse().unwrap()).is_some());
        // One of version 4 is the same in both ways of writing.
        let both = ["192.0.2.7", "::ffff:192.0.2.7"];
        let flood = take(&places, both.into_iter().cycle().take(CONNECTIONS_MAX));
        assert_eq!(flood.len(), OF_PEER_MAX);
    }

    #[test]
    fn this_machine_has_all_places_and_nothing_is_kept_of_who_has_gone() {
        for own in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let places = Places::default();
            let taken = taken_from(&places, own);
            assert_eq!(taken.len(), CONNECTIONS_MAX, "{own}");
            assert!(places.take("192.0.2.7".parse().unwrap()).is_none());
            drop(taken);
            assert!(places.0.lock().unwrap().is_empty());
        }
    }
}
