// Package harness has what end-to-end tests on real clusters share, and a guide to the packages below it. Read this
// first, then a test that is similar to yours.
//
// A fleet is what such tests run on: a control plane, remote clusters, a Temporal server and a registry, all real, on
// this machine (test/fleet/README.md). `make test` brings fleets up, and test/run ARGS one for `go test ARGS`. Their
// addresses are in environment variables, which package testfleet reads: it imports nothing of ours, so that tests
// inside of the packages that this one imports can use it too. Without a fleet, a test that needs one is skipped.
//
// # What to use when
//
// Use the first of these with which your test can see its subject: the further down, the longer it takes.
//
//   - A test beside the code that it tests, with testfleet.Require for the kubeconfig of a real API server: one
//     activity, one watcher, one reaction of an API server.
//   - temporaltest.Namespace, where signals, timers or workers on a real Temporal server are all that matters
//     (test/signals).
//   - An inprocess.Harness: workflow and activities of a Manifest in the test's own process, where requests are
//     counted, or the work is interrupted at one of them (test/cost, test/crashpoints).
//   - An [Environment]: Lifecycle Manager as a process on a fleet that is used by the test alone, seen from outside
//     (test/e2e).
//
// # Packages
//
//   - harness: Environment and what users do and see there
//   - inprocess: the work on one Manifest in the test's own process, for comparisons between runs
//   - fixture: the module of inprocess, with known numbers of objects and kinds
//   - faultproxy: counts requests of a worker, cuts its connections, serves stale reads
//   - agent: the agent of a remote cluster as a process, which the cluster's API server calls
//   - proxy: cuts, silences or blocks the connections to a remote cluster
//   - histories: all runs of a workflow with their histories, recorded for test/replay
//   - recorder: records requests to a cluster for test/memfleet/conformance
//   - cluster: a client for a cluster of the fleet; everything that is in it, and whether anything was written
//   - temporaltest: Temporal namespaces; process: programs, addresses, probes, metrics
//   - prometheus: a Prometheus that scrapes an instance
//   - tasks: which builds did the workflow tasks of a run, and which failed
//   - fleets: how tests share the fleets and the machine
//
// # Environment
//
// It has an instance that the test starts, clusters to read, and methods that do what users do and wait for what they
// see. Afterwards it deletes all Kymas and fails where something remains.
//
//	func TestAModuleIsInstalled(t *testing.T) {
//		s := harness.NewEnvironment(t, "--log-level", "debug")
//		s.PushMinimal("fine")
//		s.Instance.Start()
//		s.Create(harness.NewKyma("new", "fine"))
//		s.BecomesReady("new", "fine@1.0.0")
//		require.Equal(t, "1.0.0", s.MinimalVersion(harness.RemoteNamespace, "fine"))
//	}
//
// By file:
//
//   - environment.go: NewMultiClusterEnvironment and At for more than one remote cluster, Eventually; instance.go: Start, Kill, more instances
//   - kyma.go, edit.go: create, read and change Kymas; status.go: their status and warning Events
//   - minimal.go, sample.go: modules to install; objects.go: apply objects, list those of modules
//   - history.go, runs.go: workflows, their runs and histories; assertruns.go: how many runs they have
//   - sweeptrigger.go: Sweeps, where a test must know that a pass of the sweep has ended
//   - container.go: an instance in the root of its container image
//   - access.go, account.go, through.go: access to a remote cluster that can be revoked or interrupted
//   - cleanup.go: what is deleted after a test
//
// # Modules
//
// A [MinimalModule] is one ConfigMap in one remote namespace, or any manifest or chart that it is given: use it where
// only the handling of modules matters, as it is Ready at once. With [NewSynced], many Kymas have theirs in one cluster.
//
//	s.PushModule(harness.MinimalModule{Name: "choosy", Version: "1.1.0", Channels: "fast, regular=1.0.0"})
//
// The sample module (test/modules/sample) has a definition, an operator and a default custom resource, which take part
// in installation and removal. Environments run its operator. Use it where those matter.
//
//	s.Push("test/modules/sample/1.0.0")
//
// # Interrupted connections
//
// A proxy.Blocker is between the instance and the remote cluster and blocks one request, so that the test acts while the
// instance is known to be in the middle of its work. A test never sleeps and hopes for that.
//
//	b, through := s.ThroughBlocker(t)
//	s.GiveAccess("cut", through)
//	b.Block("/deployments/sample-operator", http.MethodPatch)
//	require.NoError(t, s.ControlPlane.Create(t.Context(), harness.NewKyma("cut", "sample")))
//	b.Await()          // it is about to apply the Deployment
//	b.Set(proxy.Cut)   // the cluster is gone
//	b.Drop()           // what was blocked never arrives
//	b.Set(proxy.Forward)
//
// A proxy.TCP alone, from [Environment.ThroughProxy], is cut or silent without blocking anything. Both end before the
// environment is cleaned up, so give direct access back at the end: s.GiveAccess("cut", s.RemoteAccess(t)).
//
// # In-process harness
//
// An inprocess.Installation is a Manifest of the module of package fixture. A Worker works on it, and connects to all
// servers through a faultproxy.Proxy. Its Snapshot is the result, comparable between installations.
//
//	p := inprocess.New(t, "mine").NewInstallation(t, fixture.First())
//	proxy := &faultproxy.Proxy{CutAt: 7}
//	worker := p.Work(t, proxy)
//	p.Kick()
//	<-proxy.IsCut()
//	worker.Abandon()
//	p.Work(t, &faultproxy.Proxy{}) // takes over
//	require.Eventually(t, p.IsSettled, time.Minute, 100*time.Millisecond)
package harness
