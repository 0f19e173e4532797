module github.com/kyma-project/lifecycle-manager/test/workflowcheck

go 1.26.4

require (
	go.temporal.io/sdk/contrib/tools/workflowcheck v0.6.0
	golang.org/x/tools v0.39.0
)

require gopkg.in/yaml.v2 v2.4.0 // indirect
