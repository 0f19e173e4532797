// Command lifecycle-manager keeps Kubernetes clusters equipped with the modules that their owners asked for.
package main

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	os.Exit(execute(ctrl.SetupSignalHandler(), os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}
