// Program workflowcheck fails where workflow code is not deterministic. It is Temporal's analyzer of that name in the form
// that `go vet -vettool` takes, so that what it has found out about a package is cached like what the compiler has: the
// program that Temporal ships reads all of Kubernetes' and Temporal's sources again each time.
package main

import (
	"go.temporal.io/sdk/contrib/tools/workflowcheck/determinism"
	"go.temporal.io/sdk/contrib/tools/workflowcheck/workflow"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	refs := workflow.DefaultIdentRefs.Clone()
	refs.SetAll(determinism.IdentRefs{
		// Names the calling method in the message of a panic; fmt reaches it through reflect.
		"reflect.valueMethodName": false,
	})
	unitchecker.Main(workflow.NewChecker(workflow.Config{IdentRefs: refs}).NewAnalyzer())
}
