package pki

import (
	"math/big"
	"strings"
)

// IsRevoked tells whether a list has a serial number: serial numbers are separated by commas, and in hexadecimal as
// `openssl x509 -noout -serial` prints them, with or without what stands before the number, colons and capitals.
func IsRevoked(serial *big.Int, list string) bool {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(item)), "serial=")
		listed, is := new(big.Int).SetString(strings.TrimPrefix(strings.ReplaceAll(item, ":", ""), "0x"), 16)
		if is && serial != nil && listed.Cmp(serial) == 0 {
			return true
		}
	}
	return false
}
