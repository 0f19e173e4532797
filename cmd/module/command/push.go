package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
)

type registryFlags struct {
	address       string
	plainHTTP     bool
	username      string
	passwordStdin bool
	overwrite     bool
}

func newPushCommand() *cobra.Command {
	var flags requestFlags
	var target registryFlags
	command := &cobra.Command{
		Use:   "push [FOLDER or FILE] --registry HOST[:PORT][/SUBPATH]",
		Short: "Push a module to an OCI registry",
		Long: `Check a module and push it as an OCM component version to
REGISTRY/component-descriptors/<component name>:<version>. Write its
ModuleTemplate and ModuleReleaseMeta to standard output.

Pushing the same content again changes nothing. If the registry has the version
with different content, push fails, unless you set --overwrite.

The credentials come from --username and --password-stdin. Without these flags,
push uses the credentials that docker login stored for the registry.`,
		Example: `  module push ./sample --registry registry.example.com/modules --channel regular --channel fast | kubectl apply -f -
  module push ./sample --registry 127.0.0.1:5000 --plain-http
  module push ./sample --registry registry.example.com --username ci --password-stdin < password`,
		Args: oneArgument,
		RunE: func(command *cobra.Command, arguments []string) error {
			if err := flags.checkOutput(); err != nil {
				return err
			}
			request, err := flags.request(modulePath(arguments))
			if err != nil {
				return err
			}
			registry, err := target.registry(command.InOrStdin())
			if err != nil {
				return err
			}
			result, err := ship.Push(request, registry, target.overwrite)
			if err := flags.printResult(command, result, err); err != nil {
				return err
			}
			if result.Written {
				command.PrintErrf("pushed %s to %s\n", result.Version, registry.Address)
			} else {
				command.PrintErrf("%s is already in %s, with the same content\n", result.Version, registry.Address)
			}
			return nil
		},
	}
	flags.register(command)
	target.register(command)
	return command
}

func (f *registryFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringVar(&f.address, "registry", "", "address of the registry, with an optional path: HOST[:PORT][/SUBPATH]")
	flags.BoolVar(&f.plainHTTP, "plain-http", false, "use HTTP without TLS")
	flags.StringVar(&f.username, "username", "", "user name for the registry")
	flags.BoolVar(&f.passwordStdin, "password-stdin", false, "read the password from standard input")
	flags.BoolVar(&f.overwrite, "overwrite", false, "replace the version if the registry has it with different content")
	must(command.MarkFlagRequired("registry"))
}

// registry checks the flags and finds the credentials.
func (f *registryFlags) registry(in io.Reader) (component.Registry, error) {
	if strings.Contains(f.address, "://") {
		return component.Registry{}, fmt.Errorf("%w: --registry %s: leave out the scheme; for http, set --plain-http", errUsage, f.address)
	}
	address := strings.TrimSuffix(f.address, "/")
	host, _, _ := strings.Cut(address, "/")
	parsed, err := name.NewRegistry(host, name.StrictValidation)
	if err != nil {
		return component.Registry{}, fmt.Errorf("%w: --registry %s: %w", errUsage, f.address, err)
	}
	registry := component.Registry{Address: address, PlainHTTP: f.plainHTTP}
	switch {
	case f.passwordStdin && f.username == "":
		return component.Registry{}, fmt.Errorf("%w: --password-stdin needs --username", errUsage)
	case f.username != "" && !f.passwordStdin:
		return component.Registry{}, fmt.Errorf("%w: --username needs --password-stdin", errUsage)
	case f.passwordStdin:
		password, err := io.ReadAll(in)
		if err != nil {
			return component.Registry{}, fmt.Errorf("read password: %w", err)
		}
		registry.Username, registry.Password = f.username, strings.TrimRight(string(password), "\r\n")
		return registry, nil
	}
	found, err := authn.DefaultKeychain.Resolve(parsed)
	if err != nil {
		return component.Registry{}, fmt.Errorf("find credentials for registry %s: %w", host, err)
	}
	login, err := found.Authorization()
	if err != nil {
		return component.Registry{}, fmt.Errorf("find credentials for registry %s: %w", host, err)
	}
	registry.Username, registry.Password = login.Username, login.Password
	return registry, nil
}
