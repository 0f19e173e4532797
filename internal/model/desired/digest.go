package desired

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// DigestOf is the digest of a list of values, each encoded as JSON so that no two lists can be confused.
// Values must be of types that always encode: strings, numbers, booleans, and structs, slices and maps of
// them.
func DigestOf(values ...any) string {
	hash := sha256.New()
	encoder := json.NewEncoder(hash)
	for _, value := range values {
		if err := encoder.Encode(value); err != nil {
			// Not reachable with the types above; a digest that differs each time is the safe answer to
			// a programming error, since it only causes reconciles.
			_, _ = fmt.Fprintf(hash, "%T %v %p", value, value, &value)
		}
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
