// Package kinds knows the kinds of Kubernetes that modules consist of, and reads those that a module defines itself.
//
// All facts about a well-known kind are in one table (table.go); StageOf, HealthMatters, PodSpecPath and the other
// predicates read it. Mapper says how the kinds of one module are addressed. Text and Parse convert a kind to and from
// its form in `status.kinds`.
//
// Rule: what depends on the kind of an object is asked here, so that no other package compares kinds by name to find out.
package kinds
