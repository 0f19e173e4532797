// Package scenarios has the scenario files of scale, and reads them ([Read]). A [Scenario] is a list of phases, of which each
// does exactly one thing.
package scenarios

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/scale/record"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Scenario is what a scenario file says: phases, one after the other.
type Scenario struct {
	// Name is the file's.
	Name string `json:"-"`
	// ManagerFlags are further flags of `lifecycle-manager run`.
	ManagerFlags []string `json:"managerFlags,omitempty"`
	// Sync sets spec.sync of the Kymas, so that modules may be chosen in the control plane at any time, not only at first.
	Sync bool `json:"sync,omitempty"`
	// Settle is how long to wait after each phase, whose consequences are not to be counted in the next; 3s by default.
	Settle *metav1.Duration `json:"settle,omitempty"`
	// Policy, where given, has every new version rolled out in stages.
	Policy *Policy `json:"policy,omitempty"`
	Phases []Phase `json:"phases"`
}

// Phase is one phase, which does exactly one thing.
type Phase struct {
	// Name is for people; by default it is what the phase does.
	Name string `json:"name,omitempty"`
	// Expect are limits, which a run that exceeds them fails by, at its end.
	Expect *record.Limits `json:"expect,omitempty"`

	Warm         *warm         `json:"warm,omitempty"`
	Install      *Install      `json:"install,omitempty"`
	Upgrade      *Upgrade      `json:"upgrade,omitempty"`
	Delete       *Deletion     `json:"delete,omitempty"`
	Idle         *idle         `json:"idle,omitempty"`
	Edits        *Edits        `json:"edits,omitempty"`
	Restart      *Restart      `json:"restart,omitempty"`
	BlackHole    *BlackHole    `json:"blackHole,omitempty"`
	LoseTemporal *LoseTemporal `json:"loseTemporal,omitempty"`
	Rollout      *Rollout      `json:"rollout,omitempty"`
}

// Policy is a RolloutPolicy for all modules.
type Policy struct {
	// Stages is how many stages there are, of about the same size.
	Stages int `json:"stages"`
	// Concurrency is how many clusters are updated at once.
	Concurrency int `json:"concurrency"`
}

// Rollout pushes a new version of the first module, and waits until all Kymas have it in stages, or until its rollout is held.
type Rollout struct {
	// Bad has the version fail in each cluster.
	Bad bool `json:"bad,omitempty"`
	// KillEvery kills one process of Lifecycle Manager after the other, each after this time, and starts it again; the first one
	// at the beginning.
	KillEvery *metav1.Duration `json:"killEvery,omitempty"`
	// For is how long to continue measuring after that; nothing by default.
	For *metav1.Duration `json:"for,omitempty"`
}

// warm installs some Kymas besides those that were asked for, one after the other, so that caches are full.
type warm struct {
	Kymas int `json:"kymas"`
}

// Install makes Kymas and waits until they are Ready.
type Install struct {
	// Kymas is how many; all that remain by default.
	Kymas int `json:"kymas,omitempty"`
	// OneByOne makes each only once that before is Ready.
	OneByOne bool `json:"oneByOne,omitempty"`
}

// Upgrade pushes a new version of modules and waits until all Kymas have it.
type Upgrade struct {
	// Modules is of how many, the first ones; of all by default.
	Modules int `json:"modules,omitempty"`
}

// Deletion deletes Kymas and waits until they are gone.
type Deletion struct {
	// Kymas is how many; all by default.
	Kymas int `json:"kymas,omitempty"`
}

// idle does nothing for a time.
type idle struct {
	For metav1.Duration `json:"for"`
}

// Edits adds a module to some Kymas, or takes it away from those that have it, and waits for each.
type Edits struct {
	// Count is how many Kymas are edited.
	Count int `json:"count"`
	// Every is the time from one edit to the next; 100ms by default.
	Every *metav1.Duration `json:"every,omitempty"`
	// WhileUpgrading pushes a new version of all other modules just before.
	WhileUpgrading bool `json:"whileUpgrading,omitempty"`
	// Lost is the part of the clusters that answers no more until all else is done. Their Kymas are not edited, and waited for
	// only then.
	Lost float64 `json:"lost,omitempty"`
	// WhileHanging pushes a version of the first module just before that hangs in all clusters: they never answer to one of its
	// objects. It stays.
	WhileHanging bool `json:"whileHanging,omitempty"`
	// Modules is of how many modules there is a new version; of all by default.
	Modules int `json:"modules,omitempty"`
	// Where is controlPlane (the default, which needs sync) or remote: then an edit waits for the resync as well.
	Where string `json:"where,omitempty"`
}

// Restart stops all processes of Lifecycle Manager and starts them again.
type Restart struct {
	// Kill ends them as a crash does.
	Kill bool `json:"kill,omitempty"`
	// Down is how long none runs.
	Down *metav1.Duration `json:"down,omitempty"`
	// Upgrade pushes a new version meanwhile, and waits until all Kymas have it.
	Upgrade bool `json:"upgrade,omitempty"`
	// Edits is how many Kymas are edited meanwhile, which are waited for as well. It needs sync.
	Edits int `json:"edits,omitempty"`
	// For is how long to continue measuring after all are ready again; nothing by default.
	For *metav1.Duration `json:"for,omitempty"`
}

// BlackHole lets some clusters answer no more, pushes a new version, waits for all others, lets them answer again, and waits
// for those.
type BlackHole struct {
	// Share is the part of the clusters, more than 0 and less than 1.
	Share float64 `json:"share"`
	// Modules is of how many modules there is a new version; of all by default.
	Modules int `json:"modules,omitempty"`
	// For is how long they do not answer at least.
	For *metav1.Duration `json:"for,omitempty"`
}

// LoseTemporal throws Temporal's database away and waits until all Kymas have a workflow again.
type LoseTemporal struct {
	// For is how long to continue measuring after that.
	For *metav1.Duration `json:"for,omitempty"`
}

//go:embed *.yaml
var files embed.FS

// Names are the scenarios that come with this program.
func Names() []string {
	entries, _ := files.ReadDir(".") // of the program itself
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	return names
}

// Read reads one of this program's scenarios by its name, or any by its path.
func Read(name string) (*Scenario, error) {
	var text []byte
	var err error
	if slices.Contains(Names(), name) {
		text, err = files.ReadFile(name + ".yaml")
	} else {
		text, err = os.ReadFile(filepath.Clean(name))
	}
	if err != nil {
		return nil, fmt.Errorf("read the scenario (a file, or one of %s): %w", strings.Join(Names(), ", "), err)
	}
	parsed, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	parsed.Name = strings.TrimSuffix(filepath.Base(name), ".yaml")
	return parsed, nil
}

// parse reads a scenario. Fields that it does not know are errors, or else a slip would measure something else.
func parse(text []byte) (*Scenario, error) {
	parsed := &Scenario{}
	if err := yaml.UnmarshalStrict(text, parsed); err != nil {
		return nil, err
	}
	if len(parsed.Phases) == 0 {
		return nil, errors.New("there are no phases")
	}
	for i := range parsed.Phases {
		if err := parsed.Phases[i].complete(parsed.Sync); err != nil {
			return nil, fmt.Errorf("phase %d: %w", i+1, err)
		}
		if parsed.Phases[i].Rollout != nil && (parsed.Policy == nil || parsed.Policy.Stages < 1 || parsed.Policy.Concurrency < 1) {
			return nil, errRolloutsNeedPolicy
		}
	}
	return parsed, nil
}

// complete checks a phase and gives it a name.
func (s *Phase) complete(sync bool) error {
	does := s.does()
	if len(does) != 1 {
		return fmt.Errorf("a phase does exactly one thing, this one %d: %v", len(does), does) //nolint:err113 // for people
	}
	if s.Name == "" {
		s.Name = does[0]
	}
	switch {
	case s.Warm != nil && s.Warm.Kymas < 1:
		return errors.New("warm: kymas is at least 1")
	case s.Install != nil && s.Install.Kymas < 0, s.Delete != nil && s.Delete.Kymas < 0:
		return errors.New("kymas is not negative")
	case s.Idle != nil && s.Idle.For.Duration <= 0:
		return errors.New("idle: for is missing")
	case s.BlackHole != nil && (s.BlackHole.Share <= 0 || s.BlackHole.Share >= 1):
		return errors.New("blackHole: share is between 0 and 1")
	case s.Upgrade != nil && s.Upgrade.Modules < 0, s.BlackHole != nil && s.BlackHole.Modules < 0, s.Edits != nil && s.Edits.Modules < 0:
		return errors.New("modules is not negative")
	case s.Restart != nil && s.Restart.Edits > 0 && !sync:
		return errEditsNeedSync
	case s.Edits != nil:
		return s.Edits.complete(sync)
	}
	return nil
}

var errRolloutsNeedPolicy = errors.New("rollout: the scenario needs a policy with stages and concurrency")

var errEditsNeedSync = errors.New("edits: in the control plane they take effect only with sync: true")

// EditsKymas reports whether a phase edits Kymas.
func (s Phase) EditsKymas() bool { return s.Edits != nil || s.Restart != nil && s.Restart.Edits > 0 }

func (e *Edits) complete(sync bool) error {
	switch e.Where {
	case "":
		e.Where = ControlPlane
	case ControlPlane, Remote:
	default:
		return fmt.Errorf("edits: where is %s or %s", ControlPlane, Remote) //nolint:err113 // for people
	}
	if e.Count < 1 {
		return errors.New("edits: count is at least 1")
	}
	if e.Lost < 0 || e.Lost >= 1 || e.Lost > 0 && e.WhileHanging {
		return errors.New("edits: lost is below 1, and not with whileHanging")
	}
	if e.Where == ControlPlane && !sync {
		return errEditsNeedSync
	}
	return nil
}

// Where edits are made.
const (
	ControlPlane = "controlPlane"
	Remote       = "remote"
)

// does lists what a phase does, by the names of the fields.
func (s *Phase) does() []string {
	var names []string
	value := reflect.ValueOf(*s)
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "expect" && field.Type.Kind() == reflect.Pointer && !value.Field(i).IsNil() {
			names = append(names, name)
		}
	}
	return names
}

// Extra is the number of Kymas besides those that were asked for.
func (s *Scenario) Extra() int {
	extra := 0
	for _, phase := range s.Phases {
		if phase.Warm != nil {
			extra += phase.Warm.Kymas
		}
	}
	return extra
}
