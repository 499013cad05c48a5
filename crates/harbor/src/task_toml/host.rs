//! What may stand in an `allowed_hosts` list.

use std::net::{IpAddr, Ipv4Addr};

/// Says why an entry is not a host name, a wildcard, an address or a range of addresses.
pub(super) fn check(entry: &str) -> Result<(), &'static str> {
    let host = entry.trim().to_lowercase();
    let host = host.trim_end_matches('.');
    if host.is_empty() {
        return Err("it is empty");
    }
    if let Some((address, prefix)) = host.split_once('/') {
        return check_range(address, prefix);
    }
    if host.contains(':') {
        // An IPv6 address with a zone (`%eth0`) does not parse, as it must not.
        return host.parse::<IpAddr>().map(|_| ()).map_err(|_| "it has a port, or is no IPv6 address");
    }
    let name = match host.strip_prefix("*.") {
        Some(name) if name.parse::<IpAddr>().is_ok() => {
            return Err("a wildcard stands before a host name only");
        }
        Some(name) => name,
        None if host.contains('*') => return Err("a wildcard is a `*.` at the very beginning"),
        None => host,
    };
    if name.split('.').all(is_label) { Ok(()) } else { Err("it is no host name") }
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn check_range(address: &str, prefix: &str) -> Result<(), &'static str> {
    let address: IpAddr =
        address.parse().map_err(|_| "a path, or a range of something that is no IP address")?;
    let (value, width) = match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    };
    let bits = match prefix.parse::<Ipv4Addr>() {
        Ok(mask) if width == 32 => mask_length(mask.to_bits()).ok_or("its mask has holes")?,
        _ => parse_prefix(prefix).filter(|bits| *bits <= width).ok_or("its prefix is out of range")?,
    };
    let host_bits = width - bits;
    let rest = value.checked_shr(host_bits).unwrap_or(0).checked_shl(host_bits).unwrap_or(0);
    if rest == value { Ok(()) } else { Err("the address has bits beyond its prefix") }
}

fn parse_prefix(prefix: &str) -> Option<u32> {
    // `parse` alone would take a plus sign.
    if prefix.bytes().all(|b| b.is_ascii_digit()) { prefix.parse().ok() } else { None }
}

/// Length of a netmask such as 255.255.255.0, or of the same turned inside out.
fn mask_length(mask: u32) -> Option<u32> {
    [mask, !mask]
        .into_iter()
        .find(|m| m.leading_ones() + m.trailing_zeros().min(32) == 32)
        .map(u32::leading_ones)
}
