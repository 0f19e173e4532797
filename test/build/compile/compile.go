// Package compile builds Go programs and says how far it is: from an empty build cache some of them take minutes.
//
// All programs of this repository are compiled with the same flags, and so are its tests (GOFLAGS and CGO_ENABLED in the
// Makefile). A package that two of them import in the same version is compiled once.
package compile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Flags are for GOFLAGS. -trimpath makes a build independent of the folder of the sources. Without DWARF, compiling
// takes a tenth less processor time; stack traces do without it, and debuggers need a build of their own.
const Flags = "-trimpath -gcflags=all=-dwarf=false"

// Program is one program to build.
type Program struct {
	// Name is for people.
	Name string
	// Module is the folder of the Go module, Package the main package: an import path, or a folder that begins with "./".
	Module, Package string
	// Variables are set by the linker.
	Variables map[string]string
	// Environment has more variables of the go command, such as those of another platform.
	Environment []string
	// Target is the path of the built program.
	Target string
	// Install is the path that a complete program is moved to, in one step. It stays at Target if this is empty; then it is
	// linked only when it has changed.
	Install string
}

// Environment returns the environment of a go command that compiles as Flags say. The user's settings hold where they do
// not change what is built.
func Environment() []string {
	// The compiler is short-lived: it may use memory rather than collect garbage.
	return append(os.Environ(), "GOFLAGS="+Flags, "GOWORK=off", "CGO_ENABLED=0", "GOGC=400", "GOOS=", "GOARCH=")
}

// group are programs that one go command builds: it looks only once at what they share.
type group []Program

// grouped joins neighbours that can be built together.
func grouped(programs []Program) (groups []group) {
	for _, p := range programs {
		if last := len(groups) - 1; last >= 0 && p.fits(groups[last][0]) {
			groups[last] = append(groups[last], p)
		} else {
			groups = append(groups, group{p})
		}
	}
	return groups
}

// fits tells whether p can be built together with other: into one folder, each by the name of its package.
func (p Program) fits(other Program) bool {
	named := func(p Program) bool { return p.Install == "" && filepath.Base(p.Target) == path.Base(p.Package) }
	return named(p) && named(other) && p.Module == other.Module && filepath.Dir(p.Target) == filepath.Dir(other.Target) &&
		maps.Equal(p.Variables, other.Variables) && slices.Equal(p.Environment, other.Environment)
}

func (g group) name() string {
	names := make([]string, len(g))
	for i, p := range g {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func (g group) arguments() []string {
	// Symbols for debuggers take a third of the time to link, and of the size; stack traces do without them.
	linker := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(g[0].Variables)) {
		linker = append(linker, "-X", name+"="+g[0].Variables[name])
	}
	target := g[0].Target
	if len(g) > 1 {
		target = filepath.Dir(target) + string(filepath.Separator)
	}
	// Without the version control stamp, equal sources give equal programs.
	arguments := []string{"build", "-v", "-mod=readonly", "-buildvcs=false", "-ldflags", strings.Join(linker, " "), "-o", target}
	for _, p := range g {
		arguments = append(arguments, p.Package)
	}
	return arguments
}

// compiled returns the program of the group, unless it is the only one, whose main package has this import path.
func (g group) compiled(importPath string) (name string, ok bool) {
	for _, p := range g {
		if len(g) > 1 && strings.HasSuffix(importPath, strings.TrimPrefix(p.Package, ".")) {
			return p.Name, true
		}
	}
	return "", false
}

func (p Program) install() error {
	if p.Install == "" {
		return nil
	}
	if err := os.Rename(p.Target, p.Install); err != nil {
		return fmt.Errorf("install %s: %w", p.Name, err)
	}
	return nil
}

// Build builds programs in their order: an interrupted build loses nothing that was compiled. say gets a line for each
// program that has to be compiled, and now and then one about what takes long.
func Build(ctx context.Context, programs []Program, say func(line string)) error {
	p := &progress{groups: grouped(programs), say: say, now: time.Now}
	// Nobody waits for a count of packages that are all built.
	ctx, cancel := context.WithCancel(ctx)
	defer p.counting.Wait()
	defer cancel()
	for i := range p.groups {
		if err := p.build(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

const (
	// firstNotice is when a build that takes long says so first, nextNotices how often it does afterwards.
	firstNotice = 2 * time.Second
	nextNotices = 15 * time.Second
)

// progress is how far a Build is.
type progress struct {
	groups []group
	say    func(string)
	now    func() time.Time

	mu sync.Mutex
	// current is the index of the group that is being built since began.
	current int
	began   time.Time
	// downloaded and compiled count since the first program.
	downloaded int
	compiled   int
	counting   sync.WaitGroup
	// stale are the packages that each group had to compile when they were counted, from countedAt on, when countedCompiled
	// packages were compiled; nil before.
	stale           []map[string]bool
	countedAt       time.Time
	countedCompiled int
}

func (p *progress) build(ctx context.Context, index int) error {
	building := p.groups[index]
	p.mu.Lock()
	p.current, p.began = index, p.now()
	before := p.compiled
	p.mu.Unlock()

	cmd := building[0].goCommand(ctx, building.arguments()...)
	messages, err := cmd.StderrPipe()
	if err != nil {
		return fmt.Errorf("build %s: %w", building.name(), err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("build %s: %w", building.name(), err)
	}
	stop := p.notices(ctx)
	problems := p.read(messages, building)
	err = cmd.Wait()
	stop()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: interrupted; what was compiled is kept", building.name())
		}
		return fmt.Errorf("build %s: %w\n%s", building.name(), err, strings.Join(problems, "\n"))
	}
	for _, program := range building {
		if err := program.install(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	compiled := ""
	if p.compiled > before {
		compiled = fmt.Sprintf(" (%d packages compiled)", p.compiled-before) + p.rest(index+1)
	}
	p.say(fmt.Sprintf("built %s in %s%s", building.name(), seconds(p.now().Sub(p.began)), compiled))
	return nil
}

// goCommand is a go command about a program. Interrupted, it stops its compilers and tidies up.
func (p Program) goCommand(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Env = p.Module, append(Environment(), p.Environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	const grace = 10 * time.Second
	cmd.WaitDelay = grace
	return cmd
}

// notices says now and then how far the build is, until stop is called.
func (p *progress) notices(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		timer := time.NewTimer(firstNotice)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				p.count(ctx)
				p.mu.Lock()
				p.say(p.line())
				p.mu.Unlock()
				timer.Reset(nextNotices)
			}
		}
	})
	return func() {
		close(done)
		running.Wait()
	}
}

// line says how far the program is that is being built, and what remains.
func (p *progress) line() string {
	name, passed := p.groups[p.current].name(), seconds(p.now().Sub(p.began))
	if p.stale == nil {
		if p.compiled == 0 && p.downloaded > 0 {
			return fmt.Sprintf("building %s, %s so far: %d modules downloaded", name, passed, p.downloaded)
		}
		return fmt.Sprintf("building %s, %s so far: %d packages compiled", name, passed, p.compiled)
	}
	if len(p.stale[p.current]) == 0 {
		return fmt.Sprintf("linking %s, %s so far", name, passed)
	}
	return fmt.Sprintf("building %s, %s so far%s", name, passed, p.rest(p.current))
}

// rest says what remains of the programs from an index on.
func (p *progress) rest(from int) string {
	if p.stale == nil || from >= len(p.groups) {
		return ""
	}
	all := map[string]bool{}
	for _, packages := range p.stale {
		maps.Copy(all, packages)
	}
	done := min(p.compiled-p.countedCompiled, len(all))
	left := len(all) - done
	text := fmt.Sprintf("; all programs: %d of %d packages left", left, len(all))
	const enough = 50 // the first packages are small
	if done >= enough {
		estimate := p.now().Sub(p.countedAt) / time.Duration(done) * time.Duration(left)
		text += ", about " + seconds(estimate)
	}
	return text
}

func seconds(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// count asks once, beside the build, which packages of all programs have to be compiled.
func (p *progress) count(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.countedAt.IsZero() {
		return
	}
	p.countedAt, p.countedCompiled = p.now(), p.compiled
	p.counting.Go(func() {
		stale := make([]map[string]bool, len(p.groups))
		for i := p.current; i < len(p.groups); i++ {
			var err error
			if stale[i], err = p.groups[i].stalePackages(ctx); err != nil {
				return // the build itself says what is wrong
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.stale = stale
	})
}

// stalePackages are the packages, with their versions and what they are built for, that the build cache lacks.
func (g group) stalePackages(ctx context.Context) (map[string]bool, error) {
	const format = `{{if .Stale}}{{.ImportPath}}{{with .Module}} {{.Version}}{{end}}{{end}}`
	arguments := []string{"list", "-deps", "-f", format}
	for _, p := range g {
		arguments = append(arguments, p.Package)
	}
	output, err := g[0].goCommand(ctx, arguments...).Output()
	if err != nil {
		return nil, fmt.Errorf("count the packages of %s: %w", g.name(), err)
	}
	packages := map[string]bool{}
	for line := range strings.Lines(string(output)) {
		if line = strings.TrimSpace(line); line != "" {
			packages[line+" "+strings.Join(g[0].Environment, " ")] = true
		}
	}
	return packages, nil
}

// read takes what the go command says, and returns the lines that are neither a download nor a package.
func (p *progress) read(messages io.Reader, building group) (problems []string) {
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		line := lines.Text()
		p.mu.Lock()
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			p.downloaded++
		case line != "" && !strings.ContainsAny(line, " \t:"):
			p.compiled++ // the import path of a package that is being compiled (-v)
			if name, ok := building.compiled(line); ok {
				p.say("compiled " + name + p.rest(p.current))
			}
		default:
			problems = append(problems, line)
		}
		p.mu.Unlock()
	}
	// What is too long for a line is no reason to block the build.
	_, _ = io.Copy(io.Discard, messages)
	return problems
}
