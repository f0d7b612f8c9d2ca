package main

import (
	"net/netip"
	"os"
	"strings"
)

const (
	allowedVariable = "TORPOR_ALLOW_NETWORKS"
	deniedVariable  = "TORPOR_DENY_NETWORKS"
)

// addressRules decides which addresses a source may have, as torpor_triggerer.network.addresses does for waits.
type addressRules struct{ rules []addressRule }

type addressRule struct {
	network   netip.Prefix
	allows    bool
	isDefault bool
	why       string
}

// denied are the networks of torpor_triggerer.network.addresses.DENIED. A test compares them.
var denied = []struct{ network, why string }{
	{"0.0.0.0/8", "unspecified"},
	{"127.0.0.0/8", "loopback"},
	{"169.254.0.0/16", "link-local, as metadata services of clouds are"},
	{"100.100.100.200/32", "a metadata service"},
	{"192.0.0.192/32", "a metadata service"},
	{"224.0.0.0/4", "multicast"},
	{"240.0.0.0/4", "reserved"},
	{"::/128", "unspecified"},
	{"::1/128", "loopback"},
	{"fe80::/10", "link-local"},
	{"fec0::/10", "site-local"},
	{"fd00:ec2::254/128", "a metadata service"},
	{"fd20:ce::254/128", "a metadata service"},
	{"ff00::/8", "multicast"},
	{"64:ff9b:1::/48", "local-use NAT64, which can lead to any IPv4 address"},
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")
var sixToFour = netip.MustParsePrefix("2002::/16")
var teredo = netip.MustParsePrefix("2001::/32")

func parseRules(environment func(string) string) (addressRules, error) {
	var rules addressRules
	for _, each := range denied {
		rules.rules = append(rules.rules, addressRule{netip.MustParsePrefix(each.network), false, true, each.why})
	}
	for _, setting := range []struct {
		name   string
		allows bool
	}{{deniedVariable, false}, {allowedVariable, true}} {
		for _, text := range strings.FieldsFunc(environment(setting.name), func(r rune) bool { return r == ',' || r == ' ' }) {
			network, err := netip.ParsePrefix(text)
			if err != nil {
				address, failed := netip.ParseAddr(text)
				if failed != nil {
					return rules, failure(exitConfiguration, "%s: %q is not a network", setting.name, text)
				}
				network = netip.PrefixFrom(address, address.BitLen())
			}
			rules.rules = append(rules.rules, addressRule{network.Masked(), setting.allows, false, "denied by --deny-networks"})
		}
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if address, err := netip.ParseAddr(value); err == nil && (strings.HasSuffix(name, "_SERVICE_HOST") || name == "TORPOR_NODE_IP") {
			why := "a Service of the control plane, or the node"
			rules.rules = append(rules.rules, addressRule{netip.PrefixFrom(address, address.BitLen()), false, true, why})
		}
	}
	return rules, nil
}

// check refuses an address, host:port, that a connection is about to be made to.
func (r addressRules) check(address string) error {
	parsed, err := netip.ParseAddrPort(address)
	if err != nil {
		return failure(exitContent, "cannot connect to %q", address)
	}
	for _, each := range equivalents(parsed.Addr().WithZone("")) {
		if why := r.refusal(each); why != "" {
			return failure(exitContent, "a source may not be at %s: %s", parsed.Addr(), why)
		}
	}
	return nil
}

// refusal applies the most specific rule; of equal ones a setting, and then a denial.
func (r addressRules) refusal(address netip.Addr) string {
	best := -1
	for index, rule := range r.rules {
		if rule.network.Addr().Is4() != address.Is4() || !rule.network.Contains(address) {
			continue
		}
		if best < 0 || rule.before(r.rules[best]) {
			best = index
		}
	}
	if best < 0 || r.rules[best].allows {
		return ""
	}
	return r.rules[best].why
}

func (a addressRule) before(b addressRule) bool {
	if a.network.Bits() != b.network.Bits() {
		return a.network.Bits() > b.network.Bits()
	}
	if a.isDefault != b.isDefault {
		return !a.isDefault
	}
	return !a.allows && b.allows
}

// equivalents returns the address, and the IPv4 addresses that it embeds.
func equivalents(address netip.Addr) []netip.Addr {
	if address.Is4() {
		return []netip.Addr{address}
	}
	if address.Is4In6() {
		return []netip.Addr{address, address.Unmap()}
	}
	all, bytes := []netip.Addr{address}, address.As16()
	embedded := func(at int) { all = append(all, netip.AddrFrom4([4]byte(bytes[at:at+4]))) }
	switch {
	case nat64.Contains(address):
		embedded(12)
	case sixToFour.Contains(address):
		embedded(2)
	case teredo.Contains(address):
		embedded(4)
		var client [4]byte
		for index := range client {
			client[index] = ^bytes[12+index]
		}
		all = append(all, netip.AddrFrom4(client))
	case [12]byte(bytes[:12]) == [12]byte{} && (bytes[15] > 1 || [3]byte(bytes[12:15]) != [3]byte{}):
		embedded(12)
	}
	return all
}
