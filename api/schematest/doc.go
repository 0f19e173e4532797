// Package schematest checks the generated CustomResourceDefinitions with the
// very code that a Kubernetes API server validates, defaults and prunes custom
// resources with, but without an API server.
//
// It is a module of its own, so that the API server's libraries stay out of the
// product's go.mod.
package schematest
