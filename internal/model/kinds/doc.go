// Package kinds knows the kinds of Kubernetes that modules consist of, and reads those that a module defines itself.
//
// All facts about a well-known kind are in one table (table.go); StageOf, HealthMatters, PodSpecPath and the other
// predicates read it. Mapper says how the kinds of one module are addressed. Text and Parse convert a kind to and from
// its form in `status.kinds`.
//
// Rule: in which stage a kind is applied, whether its health matters, and where it has the spec of its pods is decided
// here and nowhere else.
package kinds
