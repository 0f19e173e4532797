// Package postgres runs a PostgreSQL server with a folder of its own, from programs that are installed ([Find]).
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kyma-project/lifecycle-manager/test/scale/processes"
)

// ErrNotFound says that no PostgreSQL was found.
var ErrNotFound = errors.New("no PostgreSQL found: install it (Debian: the package postgresql), or name the folder of initdb and postgres by POSTGRES or -postgres")

// User is who owns Temporal's databases. There is no password: the server listens on the loopback interface, and
// has nothing else in it.
const User = "temporal"

// Server is a PostgreSQL server with a folder of its own.
type Server struct {
	// programs is the folder of its programs.
	programs string
	Folder   string
	Port     int
	// as is the user that it runs as, for it refuses to run as root; nil is this program's user.
	as *syscall.Credential
}

// Find returns the folder of PostgreSQL's programs: the one that was asked for, else the newest of Debian's packages,
// else the one in the path.
func Find(asked string) (string, error) {
	if asked != "" {
		if !hasPrograms(asked) {
			return "", fmt.Errorf("the folder %s does not have the programs initdb, postgres and psql", asked) //nolint:err113 // for people
		}
		return filepath.Abs(asked)
	}
	packaged, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	candidates := newestFirst(packaged)
	if program, err := exec.LookPath("postgres"); err == nil {
		candidates = append(candidates, filepath.Dir(program))
	}
	for _, candidate := range candidates {
		if hasPrograms(candidate) {
			return candidate, nil
		}
	}
	return "", ErrNotFound
}

// newestFirst sorts folders such as /usr/lib/postgresql/15/bin by their version.
func newestFirst(folders []string) []string {
	version := func(folder string) int {
		number, _ := strconv.Atoi(filepath.Base(filepath.Dir(folder)))
		return number
	}
	return slices.SortedFunc(slices.Values(folders), func(a, b string) int { return version(b) - version(a) })
}

func hasPrograms(folder string) bool {
	for _, name := range []string{"initdb", "postgres", "psql"} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// New makes the folder of an empty server.
func New(ctx context.Context, programs string) (*Server, error) {
	ports, err := processes.FreePorts(1)
	if err != nil {
		return nil, err
	}
	p := &Server{programs: programs, Port: ports[0]}
	// Not below our own folder, which other users cannot enter.
	if p.Folder, err = os.MkdirTemp("", "lifecycle-manager-scale-postgres."); err != nil {
		return nil, fmt.Errorf("make PostgreSQL's folder: %w", err)
	}
	if os.Geteuid() == 0 {
		if p.as, err = credential("postgres"); err != nil {
			return p, err
		}
		if err := os.Chown(p.Folder, int(p.as.Uid), int(p.as.Gid)); err != nil {
			return p, fmt.Errorf("make PostgreSQL's folder: %w", err)
		}
	}
	_, err = p.run(ctx, "initdb", "--pgdata", p.data(), "--username", User, "--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync")
	return p, err
}

// credential are the ids of a user.
func credential(name string) (*syscall.Credential, error) {
	found, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the id of user %s: %w", name, err)
	}
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the group of user %s: %w", name, err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (p *Server) data() string { return filepath.Join(p.Folder, "data") }

// Settings are those that are not PostgreSQL's defaults, other than addresses. What makes writes durable stays on.
func (p *Server) Settings() map[string]string {
	return map[string]string{
		// Each of Temporal's four services has connections of its own.
		"max_connections": "200",
		// The default of 128 MB is meant for the smallest of machines.
		"shared_buffers": "512MB",
		// Fewer checkpoints in a short run, each of which writes whole pages again.
		"max_wal_size": "4GB",
	}
}

// Program is how the server is started. SIGINT is its fast shutdown, which does not wait for its clients.
func (p *Server) Program() processes.Program {
	arguments := []string{
		"-D", p.data(), "-p", strconv.Itoa(p.Port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
	}
	settings := p.Settings()
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		arguments = append(arguments, "-c", name+"="+settings[name])
	}
	return processes.Program{
		Name: "postgres", Path: filepath.Join(p.programs, "postgres"), Arguments: arguments, Folder: p.Folder, As: p.as, Stop: syscall.SIGINT,
	}
}

// Ready waits until the server answers.
func (p *Server) Ready(ctx context.Context, running *processes.Process) error {
	return processes.Until(ctx, time.Minute, "PostgreSQL answers", func() (bool, error) {
		_, err := p.Query(ctx, "SELECT 1")
		return err == nil, running.Died()
	})
}

// Query returns what one statement answers, as lines with | between columns.
func (p *Server) Query(ctx context.Context, statement string) (string, error) {
	out, err := p.run(ctx, "psql", "--host", "127.0.0.1", "--port", strconv.Itoa(p.Port), "--username", User, "--dbname", "postgres",
		"--no-psqlrc", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1", "--command", statement)
	return strings.TrimSpace(string(out)), err
}

// run runs one of its programs to its end.
func (p *Server) run(ctx context.Context, name string, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, filepath.Join(p.programs, name), arguments...) //nolint:gosec // programs of the package
	command.Dir = p.Folder
	command.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	return processes.Run(command, nil)
}

// Remove deletes the folder, once the server has ended.
func (p *Server) Remove() error {
	if err := os.RemoveAll(p.Folder); err != nil {
		return fmt.Errorf("remove PostgreSQL's folder: %w", err)
	}
	return nil
}
