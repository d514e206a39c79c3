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

from podplan.lint.cel.functions import Overload, Tagged, make_predicate, tag_value

_IP, _CIDR = "IP", "CIDR"
IpAddress = IPv4Address | IPv6Address
IpInterface = IPv4Interface | IPv6Interface
_LINK_LOCAL_SCOPE = 0x02  # the scope of an IPv6 multicast address, RFC 4291 §2.7


def parse_ip(text: str) -> Tagged:
    """An address; neither zones nor IPv4 in IPv6 are allowed, as in Kubernetes."""
    return tag_value(_IP, str(_parse_address(text)))


def parse_cidr(text: str) -> Tagged:
    """An address with the length of its prefix, host bits kept."""
    return tag_value(_CIDR, str(_parse_interface(text)))


def _parse_address(text: str) -> IpAddress:
    try:
        if "%" in text:
            raise ValueError
        address = ip_address(text)
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            raise ValueError
    except ValueError:
        raise ValueError("ip() wants an IPv4 or IPv6 address") from None
    return address


def _parse_interface(text: str) -> IpInterface:
    try:
        if not re.search(r"/(?:0|[1-9][0-9]{0,2})\Z", text):
            raise ValueError
        _parse_address(text[: text.rindex("/")])
        return ip_interface(text)
    except ValueError:
        raise ValueError("cidr() wants an address and a prefix length") from None


def _to_address(value: Tagged | str) -> IpAddress:
    return _parse_address(value if isinstance(value, str) else str(value[_IP]))


def _to_interface(value: Tagged | str) -> IpInterface:
    return _parse_interface(value if isinstance(value, str) else str(value[_CIDR]))


def _is_link_local_multicast(value: Tagged) -> bool:
    address = _to_address(value)
    if isinstance(address, IPv4Address):
        return address.packed[:3] == b"\xe0\x00\x00"
    return address.is_multicast and address.packed[1] & 0x0F == _LINK_LOCAL_SCOPE


def _is_global_unicast(value: Tagged) -> bool:
    """What Go calls global unicast: private addresses too."""
    address = _to_address(value)
    is_broadcast = address.packed == b"\xff" * 4
    return not (
        is_broadcast
        or address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
    )


def _contains_ip(outer: Tagged, inner: Tagged | str) -> bool:
    return _to_address(inner) in _to_interface(outer).network


def _contains_cidr(outer: Tagged, inner: Tagged | str) -> bool:
    network, inner_interface = _to_interface(outer).network, _to_interface(inner)
    return network.version == inner_interface.version and (
        network.prefixlen <= inner_interface.network.prefixlen and inner_interface.ip in network
    )


OVERLOADS = (
    Overload("ip", ("string",), _IP, parse_ip),
    Overload("isIP", ("string",), "bool", make_predicate(parse_ip)),
    Overload("ip.isCanonical", ("string",), "bool", lambda text: str(_parse_address(text)) == text),
    Overload("family", (_IP,), "int", lambda value: _to_address(value).version, True),
    Overload("isUnspecified", (_IP,), "bool", lambda value: _to_address(value).is_unspecified, True),
    Overload("isLoopback", (_IP,), "bool", lambda value: _to_address(value).is_loopback, True),
    Overload("isLinkLocalMulticast", (_IP,), "bool", _is_link_local_multicast, True),
    Overload("isLinkLocalUnicast", (_IP,), "bool", lambda value: _to_address(value).is_link_local, True),
    Overload("isGlobalUnicast", (_IP,), "bool", _is_global_unicast, True),
    Overload("cidr", ("string",), _CIDR, parse_cidr),
    Overload("isCIDR", ("string",), "bool", make_predicate(parse_cidr)),
    Overload("containsIP", (_CIDR, _IP), "bool", _contains_ip, True),
    Overload("containsIP", (_CIDR, "string"), "bool", _contains_ip, True),
    Overload("containsCIDR", (_CIDR, _CIDR), "bool", _contains_cidr, True),
    Overload("containsCIDR", (_CIDR, "string"), "bool", _contains_cidr, True),
    Overload("ip", (_CIDR,), _IP, lambda value: tag_value(_IP, str(_to_interface(value).ip)), True),
    Overload(
        "masked", (_CIDR,), _CIDR, lambda value: tag_value(_CIDR, str(_to_interface(value).network)), True
    ),
    Overload("prefixLength", (_CIDR,), "int", lambda value: _to_interface(value).network.prefixlen, True),
)
