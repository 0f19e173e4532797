//go:build !unix

package render

import "os"

// confine clears the environment. Nothing else can be limited from inside on this platform; the caller still limits
// time and output.
func confine(Limits) error {
	os.Clearenv()
	return nil
}
