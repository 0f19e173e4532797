// Package fleet brings a local fleet up and takes it down: a control plane
// cluster, remote clusters, a Temporal server and an OCI registry.
//
// Every command converges: it checks what runs and does what is missing. So a
// command that was killed half-way is finished by running it again.
package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/big"
	randv2 "math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/kube"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/process"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/progress"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/service"
	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/state"
)

// The components that are there once. Those of a cluster are called
// CLUSTER/PROGRAM.
const (
	temporalComponent = "temporal"
	registryComponent = "registry"
	// supervisorComponent ends the fleet when its owner has ended.
	supervisorComponent = "supervisor"
)

// registryUser is the name to use when the registry asks for a password.
const registryUser = "fleet"

// Fleet works on one fleet. It changes it only while holding the lock of the
// fleet's folder.
type Fleet struct {
	Folder   state.Folder
	Launcher process.Launcher
	Progress *progress.Printer

	// mu guards state, of which parts are changed by parallel starts.
	mu      sync.Mutex
	state   *state.Fleet
	chooser *ports.Chooser
}

// New returns a fleet on the given folder. shim is the command that calls
// process.BecomeRecorded.
func New(folder state.Folder, shim []string, printer *progress.Printer) *Fleet {
	return &Fleet{
		Folder:   folder,
		Launcher: process.Launcher{Records: process.Records{Dir: folder.Processes()}, Shim: shim},
		Progress: printer,
	}
}

// lock makes this command the only one that changes the fleet.
func (f *Fleet) lock(ctx context.Context) (unlock func(), err error) {
	return f.Folder.Lock(ctx, func() {
		f.Progress.Printf("waiting: another command is working on this fleet")
	})
}

// load reads the state of a fleet that must exist.
func (f *Fleet) load() error {
	loaded, err := f.Folder.Load()
	if err != nil {
		return err
	}
	f.adopt(loaded)
	return nil
}

// loadOrCreate reads the state of the fleet or begins a new one.
func (f *Fleet) loadOrCreate(name string) error {
	if err := f.Folder.Create(); err != nil {
		return err
	}
	err := f.load()
	if !errors.Is(err, state.ErrNotAFleet) {
		return err
	}
	f.adopt(&state.Fleet{Name: name, ID: rand.Text(), CreatedAt: time.Now().UTC()})
	return f.save()
}

func (f *Fleet) adopt(loaded *state.Fleet) {
	f.state = loaded
	inUse := []int{}
	for _, port := range loaded.Ports() {
		inUse = append(inUse, port.Number)
	}
	seed, err := rand.Int(rand.Reader, big.NewInt(math.MaxInt64))
	if err != nil {
		// crypto/rand does not fail on the systems that Go supports.
		panic(err)
	}
	f.chooser = ports.NewChooser(randv2.NewPCG(seed.Uint64(), uint64(os.Getpid())), inUse...)
}

func (f *Fleet) save() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.Folder.Save(f.state)
}

// cluster returns the cluster as it is now.
func (f *Fleet) cluster(name string) (kube.Cluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cluster := f.state.Cluster(name)
	if cluster == nil {
		return kube.Cluster{}, fmt.Errorf("there is no cluster %q, only %s and %v", name, state.ControlPlane, f.state.Remotes())
	}
	return kube.Cluster{
		Cluster:  *cluster,
		Dir:      f.Folder.Cluster(name),
		Binaries: f.state.Binaries,
	}, nil
}

func (f *Fleet) temporal() service.Temporal {
	f.mu.Lock()
	defer f.mu.Unlock()
	return service.Temporal{Temporal: f.state.Temporal, Dir: f.Folder.Temporal()}
}

func (f *Fleet) registry() service.Registry {
	f.mu.Lock()
	defer f.mu.Unlock()
	return service.Registry{Registry: f.state.Registry, Dir: f.Folder.Registry(), FleetID: f.state.ID}
}

// garbageCollection is how much a program's heap may grow, in percent, before it is collected. At 100, Go's default, an
// API server with next to nothing in it spends a fifth of its processor time on that; memory is cheaper here. Who brings
// up many fleets sets GOMEMLIMIT, for each of their programs.
const garbageCollection = "400"

// environment is what every program gets: enough to run, and nothing by which a
// user's settings could change what it does. Its home is the fleet's folder.
func (f *Fleet) environment(more ...string) []string {
	environment := []string{"HOME=" + f.Folder.Path, "GOGC=" + garbageCollection}
	for _, name := range []string{"PATH", "TMPDIR", "TZ", "LANG", "GOMAXPROCS", "GOMEMLIMIT"} {
		if value, set := os.LookupEnv(name); set {
			environment = append(environment, name+"="+value)
		}
	}
	return append(environment, more...)
}

// validName is what a fleet or a cluster may be called: it becomes part of file
// names and of variables.
var validName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CheckName returns an error when a fleet or a cluster cannot have the name.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("name %q: want up to 63 lower case letters, digits and dashes, with no dash at the ends", name)
	}
	if slices.Contains([]string{temporalComponent, registryComponent, supervisorComponent}, name) {
		return fmt.Errorf("name %q is the name of a component", name)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// markComplete writes the file that says that something was made whole.
func markComplete(path string) error {
	return state.WriteFile(filepath.Clean(path), []byte(time.Now().UTC().Format(time.RFC3339)+"\n"))
}
