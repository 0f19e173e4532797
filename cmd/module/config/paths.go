package config

import (
	"encoding/json"
	"fmt"
)

// Paths is one path or a list of paths.
type Paths []string

// UnmarshalJSON accepts a string or a list of strings.
func (p *Paths) UnmarshalJSON(data []byte) error {
	var one string
	if err := json.Unmarshal(data, &one); err == nil {
		if one == "" {
			*p = nil
			return nil
		}
		*p = Paths{one}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("must be a path or a list of paths: %s", data)
	}
	*p = many
	return nil
}

// MarshalJSON writes a single path as a string.
func (p Paths) MarshalJSON() ([]byte, error) {
	if len(p) == 1 {
		return json.Marshal(p[0])
	}
	return json.Marshal([]string(p))
}
