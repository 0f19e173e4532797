package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

// takeRegistry completes the flags by the registry that the Secret with the credentials names. It is called once flags are
// checked, before anything depends on them; the registry of a process does not change afterwards. Twice is as once.
func (f *flags) takeRegistry(ctx context.Context, secrets client.Reader) error {
	if f.registrySecret == "" {
		return nil
	}
	key := registrySecret(f)
	var secret corev1.Secret
	if err := secrets.Get(ctx, key, &secret); err != nil {
		return fmt.Errorf("--oci-registry-cred-secret %s: read the registry's credentials: %w", key, err)
	}
	entries, err := registriesIn(secret.Data)
	if err == nil {
		f.registryHost, err = registryOf(f.registryHost, entries)
	}
	if err != nil {
		return fmt.Errorf("--oci-registry-cred-secret %s: %w", key, err)
	}
	if err := f.readRegistryHost(); err != nil {
		return fmt.Errorf("--oci-registry-cred-secret %s: the registry in it %w", key, err)
	}
	return nil
}

// registriesIn are the registries that a Secret has credentials for.
func registriesIn(data map[string][]byte) ([]string, error) {
	content, there := data[corev1.DockerConfigJsonKey]
	if !there {
		return nil, fmt.Errorf("it has no key %s: create it with kubectl create secret docker-registry", corev1.DockerConfigJsonKey)
	}
	return artifacts.DockerConfigRegistries(content)
}

// registryOf returns the registry that components are fetched from, by the flag and by the entries of the Secret. The flag may
// name one of several registries, or a path in it, but none that the Secret has no credentials for.
func registryOf(flag string, entries []string) (string, error) {
	host := artifacts.HostOf(flag)
	switch {
	case flag != "" && !slices.ContainsFunc(entries, func(entry string) bool { return artifacts.HostOf(entry) == host }):
		return "", fmt.Errorf("it has no credentials for %s, which --oci-registry-host names: correct one of the two, or leave --oci-registry-host out", host)
	case flag != "":
		return flag, nil
	case len(entries) != 1:
		return "", fmt.Errorf("it has %d entries in auths of %s, and must have one to say which the registry is: correct it, or name the registry by --oci-registry-host",
			len(entries), corev1.DockerConfigJsonKey)
	case artifacts.HostOf(entries[0]) == "":
		return "", fmt.Errorf("the only entry in auths of %s names no registry", corev1.DockerConfigJsonKey)
	}
	return artifacts.AddressOf(entries[0]), nil
}

// readRegistryHost takes the scheme off the registry: http:// means plain HTTP to this host, as it does for clients of
// today's generation. The error does not name the flag or Secret that the registry is from.
func (f *flags) readRegistryHost() error {
	scheme, address, found := strings.Cut(f.registryHost, "://")
	if !found {
		scheme, address = "https", f.registryHost
	}
	host, _, _ := strings.Cut(address, "/")
	switch {
	case f.registryHost == "":
		return nil
	case scheme != "https" && scheme != "http", host == "", strings.Contains(host, "@"):
		return errors.New("must be a host, with http:// before it where it is spoken to without TLS, and without credentials")
	case scheme == "http" && !slices.Contains(f.plainHTTPHosts, host):
		f.plainHTTPHosts = append(f.plainHTTPHosts, host)
	}
	f.registryHost = strings.TrimRight(address, "/")
	f.settings.DescriptorRepository = f.descriptorRepository()
	return nil
}

// descriptorRepository is `<registry>[/<subpath>]`.
func (f *flags) descriptorRepository() string {
	subpath := strings.Trim(f.registrySubpath, "/")
	if subpath == "" {
		return f.registryHost
	}
	return f.registryHost + "/" + subpath
}
