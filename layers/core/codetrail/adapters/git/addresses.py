"""Where a host is: addresses that may be met, and whether one of them is there."""

import ipaddress
import logging
import socket

from codetrail.domain.job import FailureReason, IndexingFailed

log = logging.getLogger(__name__)


def public_addresses(host: str, port: int) -> list[str]:
    """Return the addresses of *host*, all of them public. Raises IndexingFailed when one is not.

    git is told to use these and asks no resolver again, so that a name cannot change its meaning in between.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        log.warning("host not resolved", extra={"host": host, "trouble": str(error)})
        raise IndexingFailed(FailureReason.UNREACHABLE) from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not addresses or not all(is_public(address) for address in addresses):
        log.warning("host refused for its addresses", extra={"host": host, "addresses": addresses})
        raise IndexingFailed(FailureReason.UNREACHABLE)
    return addresses


def is_public(address: str) -> bool:
    """Return whether *address* is a global unicast one, looking through addresses that carry another."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif ip in ipaddress.ip_network("64:ff9b::/96"):  # NAT64: the last 32 bits are where it goes
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        elif ip.sixtofour is not None or ip.teredo is not None:
            return False
    return ip.is_global and not ip.is_multicast


def connects(address: str, port: int, seconds: float) -> bool:
    """Return whether *address* accepts a connection within that time."""
    try:
        with socket.create_connection((address, port), timeout=seconds):
            return True
    except OSError:
        return False
