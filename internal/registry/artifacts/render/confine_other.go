//go:build !unix

package render

import "os"

// confine clears the environment. Nothing else is limited here; what a renderer may take is bounded from outside.
func confine(Limits) error {
	os.Clearenv()
	return nil
}
