// Package harness has what tests on real clusters share. Read this first, then a test that is like yours.
//
// A fleet is what such tests run on: a control plane, remote clusters, a Temporal server and a registry, all real, on
// this machine (test/fleet/README.md). `make test` brings fleets up, and test/run ARGS one for `go test ARGS`. They say
// where they are by environment variables, which package testfleet reads: it imports nothing of ours, so that tests
// inside of the packages that this one imports can use it too. Without a fleet, a test that needs one is skipped.
//
// # What to take when
//
// Take the first of these with which your test can see what it is about: the further down, the longer it takes.
//
//   - A test beside the code that it tests, with testfleet.Require for the kubeconfig of a real API server: one
//     activity, one watcher, one reaction of an API server.
//   - [TemporalNamespace], where signals, timers or workers on a real Temporal server are all that matters
//     (test/signals).
//   - A [Lane]: workflow and activities of a Manifest in the test's own process, where requests are to be counted, or
//     the work cut off at one of them (test/cost, test/crashpoints).
//   - A [Stage]: Lifecycle Manager as a process on a fleet that is the test's alone, seen from outside (test/e2e).
//
// # Stage
//
// It has an instance that the test starts, clusters to look into, and methods that do what users do and wait for what
// they see. Afterwards it deletes all Kymas and fails where something is left.
//
//	func TestAModuleIsInstalled(t *testing.T) {
//		s := harness.NewStage(t, "--log-level", "debug")
//		s.PushTiny("fine")
//		s.Instance.Start()
//		s.Create(harness.NewKyma("new", "fine"))
//		s.BecomesReady("new", "fine@1.0.0")
//		require.Equal(t, "1.0.0", s.TinyVersion(harness.RemoteNamespace, "fine"))
//	}
//
// What there is to it, by file:
//
//   - stage.go: the stage, NewWideStage and At for more than one remote cluster, Eventually; instance.go: Start, Kill, more instances
//   - kyma.go, edit.go: make, read and change Kymas here and there; status.go: what they say and what Events warn of
//   - tiny.go, sample.go: modules to install
//   - look.go: everything in a cluster, and whether anybody wrote there; history.go: workflows and their histories
//   - pulse.go: Sweeps, where a test must know that the sweep has looked
//   - access.go, account.go, cable.go, gate.go: ways to a remote cluster that can be closed
//   - cleanup.go: what is deleted after a test; fleet.go, fleetpool.go, pace.go, namespaces.go: how tests share the machine
//
// # Modules
//
// A [Tiny] is one ConfigMap in one remote namespace, or whatever manifest or chart it is given: take it where only the
// ways of modules matter, as it is Ready at once. With [NewSynced], many Kymas have theirs in one cluster.
//
//	s.PushOne(harness.Tiny{Name: "choosy", Version: "1.1.0", Channels: "fast, regular=1.0.0"})
//
// The sample module (test/modules/sample) has a definition, an operator and a default custom resource, which take part
// in installation and removal. Stages run its operator. Take it where those matter.
//
//	s.Push("test/modules/sample/1.0.0")
//
// [Twenty] is the module of lanes: 20 objects of 10 kinds, in versions that differ in a known number of objects, so that
// the requests that an installation or an upgrade takes are known as well.
//
// # Gate and Cable
//
// A [Gate] lies between the instance and the remote cluster and holds one request, so that the test does something
// while the instance is known to be in the middle of its work. A test never sleeps and hopes for that.
//
//	g, through := s.Gated(t)
//	s.GiveAccess("cut", through)
//	g.Hold("/deployments/sample-operator", http.MethodPatch)
//	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("cut", "sample")))
//	g.Await()                 // it is about to apply the Deployment
//	g.Set(harness.CableCut)   // the cluster is gone
//	g.Drop()                  // what was held never arrives
//	g.Set(harness.CablePasses)
//
// A [Cable] alone, which [Stage.Through] lays, is cut or silent without holding anything. Both end before the stage is
// cleared, so give direct access back at the end: s.GiveAccess("cut", s.RemoteAccess(t)).
//
// # Lane, Place and Wire
//
// A [Place] is a Manifest of the module of twenty objects on a lane. A [Worker] works on it, and talks to all servers
// through a [Wire], which counts requests, cuts the worker off at a chosen write, or answers a read as it was answered
// before. [Place.Truth] is what came of it, comparable from place to place.
//
//	p := harness.NewLane(t, "mine").NewPlace(t, harness.TwentyFirst())
//	wire := &harness.Wire{CutAt: 7}
//	worker := p.Work(t, wire)
//	p.Kick()
//	<-wire.IsCut()
//	worker.Abandon()
//	p.Work(t, &harness.Wire{}) // takes over
//	require.Eventually(t, p.IsSettled, time.Minute, 100*time.Millisecond)
package harness
