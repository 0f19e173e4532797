package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// DigestOf returns a digest of a list of values. Each value is encoded as JSON, so that no two lists have the same
// encoding. The types of the values must always encode: strings, numbers, booleans, and structs, slices and maps of
// them.
func DigestOf(values ...any) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, value := range values {
		if err := encoder.Encode(value); err != nil {
			// Unreachable with the types above. A digest that differs each time is the safe answer to a programming
			// error, because it only causes reconciles.
			_, _ = fmt.Fprintf(hash, "%T %v %p", value, value, &value)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
