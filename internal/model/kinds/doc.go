// Package kinds knows the Kubernetes kinds that modules consist of, and reads the CustomResourceDefinitions of a
// module.
//
// One table (table.go) has all facts about well-known kinds. StageOf, HealthMatters, PodSpecPath and the other
// predicates read it. A Mapper maps the kinds of one module to resources. Text and Parse convert a kind to and from its
// form in `status.kinds`.
//
// Only this package decides in which stage a kind is applied, whether its health matters, and where its pod spec is.
package kinds
