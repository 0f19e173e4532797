package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/registry/signature"
)

// Values of --access-secret-allow.
const (
	allowHTTP        = "http"
	allowInsecureTLS = "insecure-skip-tls-verify"
	allowProxy       = "proxy-url"
	allowFiles       = "files"
)

// trustFlags say which descriptors, kubeconfigs and user-provided templates the instance accepts.
type trustFlags struct {
	signaturePolicy          string
	access                   accessFlags
	remoteTemplateRegistries []string
}

func (f *trustFlags) register(set *pflag.FlagSet) {
	set.StringVar(&f.signaturePolicy, "signature-policy", string(signature.Ignore), "which component descriptors must carry a signature that verifies with a key in a Secret: ignore (none), if-signed or require")
	f.access.register(set)
	set.StringSliceVar(&f.remoteTemplateRegistries, "remote-template-registries", nil, "registries (host or host:port) that user-provided ModuleTemplates in remote clusters may refer to; default: none")
}

func (f *trustFlags) check() error {
	if _, err := signature.ParsePolicy(f.signaturePolicy); err != nil {
		return fmt.Errorf("--signature-policy: %w", err)
	}
	return f.access.check()
}

// accessFlags say what the kubeconfigs in access Secrets may use although it is refused by default.
type accessFlags struct {
	allow []string
}

func (f *accessFlags) register(set *pflag.FlagSet) {
	set.StringSliceVar(&f.allow, "access-secret-allow", nil, "what the kubeconfigs of remote clusters may use although it is refused by default: "+
		strings.Join(f.known(), ", ")+"; with files, whoever writes an access Secret can make this process read its own files")
}

func (*accessFlags) known() []string {
	return []string{allowHTTP, allowInsecureTLS, allowProxy, allowFiles}
}

func (f *accessFlags) check() error {
	for _, name := range f.allow {
		if !slices.Contains(f.known(), name) {
			return fmt.Errorf("--access-secret-allow must be %s, not %q", strings.Join(f.known(), ", "), name)
		}
	}
	return nil
}

func (f *accessFlags) allowed() clusters.Allow {
	return clusters.Allow{
		HTTP: slices.Contains(f.allow, allowHTTP), InsecureTLS: slices.Contains(f.allow, allowInsecureTLS),
		Proxy: slices.Contains(f.allow, allowProxy), Files: slices.Contains(f.allow, allowFiles),
	}
}
