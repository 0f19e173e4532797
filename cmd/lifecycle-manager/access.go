package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
)

// What --access-secret-allow permits.
const (
	allowHTTP        = "http"
	allowInsecureTLS = "insecure-skip-tls-verify"
	allowProxy       = "proxy-url"
	allowFiles       = "files"
)

// accessFlags say what the kubeconfigs in access Secrets may ask for, beyond the cluster that they are for.
type accessFlags struct {
	allow []string
}

func (f *accessFlags) register(set *pflag.FlagSet) {
	set.StringSliceVar(&f.allow, "access-secret-allow", nil, "what is refused by default in the kubeconfigs of remote clusters and may be used here: "+
		strings.Join(f.known(), ", ")+"; with files, whoever writes an access Secret can have this process read its files")
}

func (*accessFlags) known() []string {
	return []string{allowHTTP, allowInsecureTLS, allowProxy, allowFiles}
}

// check refuses what is not known.
func (f *accessFlags) check() error {
	for _, name := range f.allow {
		if !slices.Contains(f.known(), name) {
			return fmt.Errorf("--access-secret-allow knows %s, not %q", strings.Join(f.known(), ", "), name)
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
