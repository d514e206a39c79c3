"""ip('10.0.0.1') and cidr('10.0.0.0/8'): https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#IP and #CIDR."""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv6Address,
    IPv6Interface,
    ip_address,
    ip_interface,
)

from podplan.lint.cel.functions import Overload, Tagged, succeeds, tagged

_IP, _CIDR = "IP", "CIDR"
Address = IPv4Address | IPv6Address
Interface = IPv4Interface | IPv6Interface
_LINK_LOCAL_GROUP = 0x02  # the scope of an IPv6 multicast address, RFC 4291 §2.7


def ip(text: str) -> Tagged:
    """An address; neither zones nor IPv4 in IPv6 are allowed, as in Kubernetes."""
    return tagged(_IP, str(_address(text)))


def cidr(text: str) -> Tagged:
    """An address with the length of its prefix, host bits kept."""
    return tagged(_CIDR, str(_interface(text)))


def _address(text: str) -> Address:
    try:
        if "%" in text:
            raise ValueError
        found = ip_address(text)
        if isinstance(found, IPv6Address) and found.ipv4_mapped:
            raise ValueError
    except ValueError:
        raise ValueError("ip() wants an IPv4 or IPv6 address") from None
    return found


def _interface(text: str) -> Interface:
    try:
        if not re.search(r"/(?:0|[1-9][0-9]{0,2})\Z", text):
            raise ValueError
        _address(text[: text.rindex("/")])
        return ip_interface(text)
    except ValueError:
        raise ValueError("cidr() wants an address and a prefix length") from None


def _ip(value: Tagged | str) -> Address:
    return _address(value if isinstance(value, str) else str(value[_IP]))


def _cidr(value: Tagged | str) -> Interface:
    return _interface(value if isinstance(value, str) else str(value[_CIDR]))


def _is_link_local_group(value: Tagged) -> bool:
    address = _ip(value)
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.is_multicast and address.packed[1] & 0x0F == _LINK_LOCAL_GROUP


def _is_global_unicast(value: Tagged) -> bool:
    """What Go calls global unicast: private addresses too."""
    address = _ip(value)
    everybody = address.packed == b"\xff" * 4
    return not (
        everybody
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _contains_ip(outer: Tagged, inner: Tagged | str) -> bool:
    return _ip(inner) in _cidr(outer).network


def _contains_cidr(outer: Tagged, inner: Tagged | str) -> bool:
    network, other = _cidr(outer).network, _cidr(inner)
    return network.version == other.version and (
        network.prefixlen <= other.network.prefixlen and other.ip in network
    )


OVERLOADS = (
    Overload("ip", ("string",), _IP, ip),
    Overload("isIP", ("string",), "bool", succeeds(ip)),
    Overload("ip.isCanonical", ("string",), "bool", lambda text: str(_address(text)) == text),
    Overload("family", (_IP,), "int", lambda value: _ip(value).version, True),
    Overload("isUnspecified", (_IP,), "bool", lambda value: _ip(value).is_unspecified, True),
    Overload("isLoopback", (_IP,), "bool", lambda value: _ip(value).is_loopback, True),
    Overload("isLinkLocalMulticast", (_IP,), "bool", _is_link_local_group, True),
    Overload("isLinkLocalUnicast", (_IP,), "bool", lambda value: _ip(value).is_link_local, True),
    Overload("isGlobalUnicast", (_IP,), "bool", _is_global_unicast, True),
    Overload("cidr", ("string",), _CIDR, cidr),
    Overload("isCIDR", ("string",), "bool", succeeds(cidr)),
    Overload("containsIP", (_CIDR, _IP), "bool", _contains_ip, True),
    Overload("containsIP", (_CIDR, "string"), "bool", _contains_ip, True),
    Overload("containsCIDR", (_CIDR, _CIDR), "bool", _contains_cidr, True),
    Overload("containsCIDR", (_CIDR, "string"), "bool", _contains_cidr, True),
    Overload("ip", (_CIDR,), _IP, lambda value: tagged(_IP, str(_cidr(value).ip)), True),
    Overload("masked", (_CIDR,), _CIDR, lambda value: tagged(_CIDR, str(_cidr(value).network)), True),
    Overload("prefixLength", (_CIDR,), "int", lambda value: _cidr(value).network.prefixlen, True),
)
