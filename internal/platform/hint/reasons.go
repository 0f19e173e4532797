package hint

// Section is a group of reasons on the page docs/reasons.md.
type Section struct {
	Title string
	// Text is shown below the title, in Markdown. It may be empty.
	Text    string
	Reasons []Reason
}

// Reason says what a reason in a status, an Event or a fault means, and what to do about it. Both texts are Markdown.
type Reason struct {
	Name  string
	Means string
	// Do begins with "nothing" if nobody has to act. Such a reason has no hint, unless a semicolon and a remedy follow.
	Do string
}

// Sections returns all reasons, in the order of the page.
func Sections() []Section {
	return []Section{
		{
			Title: "Access to the remote cluster",
			Reasons: []Reason{
				{
					Name:  "AccessSecretNotFound",
					Means: "no Secret has the label `operator.kyma-project.io/kyma-name` with the Kyma's name",
					Do:    "create the access Secret in the Kyma's namespace or in `--access-secret-namespace`; it takes effect at once",
				},
				{
					Name:  "AccessSecretAmbiguous",
					Means: "two Secrets have the Kyma's label, or a Secret in another namespace could also belong to a Kyma of the same name elsewhere; the message names them",
					Do:    "keep one Secret; if Kymas in several namespaces share a name, put each Secret into its Kyma's namespace",
				},
				{
					Name:  "KubeconfigRejected",
					Means: "the kubeconfig cannot be parsed, or uses something that is not allowed; the message names the field",
					Do:    "correct the access Secret: an https server, certificates and tokens inline, no plugins, file references or proxies",
				},
				{
					Name:  "UnreachableNetwork",
					Means: "nothing listens at the address, or its host name does not resolve",
					Do:    "check that the cluster exists and that its address is right; each pass of the sweep tries again",
				},
				{
					Name:  "UnreachableTimeout",
					Means: "the cluster accepts connections or requests but does not answer in time",
					Do:    "check the cluster's API server and the network to it; each pass of the sweep tries again",
				},
				{
					Name:  "UnreachableTLS",
					Means: "the server's certificate comes from another authority or is for another name, or the server does not use TLS",
					Do:    "make sure that this is still the same cluster, then put its current certificate authority into the access Secret",
				},
				{
					Name:  "UnreachableUnauthorized",
					Means: "401: the credentials expired or were revoked; if the client certificate or token contains its expiry date, the message says that it expired",
					Do:    "renew the credentials in the access Secret",
				},
				{
					Name:  "UnreachableForbidden",
					Means: "403: the kubeconfig's user lacks a permission for the request that the message names",
					Do:    "grant the kubeconfig's user the permission for the refused request; retries back off up to a day, so run the workflow update `reconcile` to try at once",
				},
				{
					Name:  "UnreachableServerFailed",
					Means: "for more than a minute of retries, the API server answered 5xx or something other than what was requested",
					Do:    "check the API server's etcd and load",
				},
				{
					Name:  "UnreachableResponseTooLarge",
					Means: "a response was larger than Lifecycle Manager accepts",
					Do:    "find what fills the cluster, such as a kind with huge objects",
				},
				{
					Name:  "ServerFailed",
					Means: "an API server answered 5xx, or something other than what was requested",
					Do:    "nothing: it is retried, and becomes `UnreachableServerFailed` if it lasts",
				},
				{
					Name:  "ConversionFailed",
					Means: "the API server could not convert an object to another version of its kind because the conversion webhook does not answer; the message names the kind",
					Do:    "repair the webhook, which is often the module's own operator; if the objects can be read as they are stored, you can set the conversion strategy of the CustomResourceDefinition to `None` instead",
				},
				{
					Name:  "Throttled",
					Means: "429: the API server asks us to slow down",
					Do:    "nothing, unless it lasts: lower `--k8s-skr-client-qps`",
				},
				{
					Name:  "Conflict",
					Means: "another client wrote the object at the same time",
					Do:    "nothing: it is retried",
				},
				{
					Name:  "InformerBehind",
					Means: "this process knows of a change that its cache has not received yet, so it cannot decide",
					Do:    "nothing: it is retried. If it lasts for minutes, the watches of the control plane are broken: read the log",
				},
				{
					Name:  "AccessChanged",
					Means: "the access Secret changed during a step",
					Do:    "nothing: the retry uses the new Secret",
				},
				{
					Name:  "ControlPlaneAccess",
					Means: "the access Secret leads to the control plane's own cluster (the uid of its namespace `kube-system`); nothing is synchronized or installed there",
					Do:    "put the remote cluster's kubeconfig into the access Secret; if modules are meant for the control plane, set `--allow-control-plane-modules`",
				},
				{
					Name:  "ClusterChanged",
					Means: "the access Secret leads to another cluster than the one that has the Kyma's modules; nothing is done there. The message names both clusters by the uid of their namespace `kube-system`",
					Do:    "restore the access to the former cluster. If it was replaced on purpose, wait for the next synchronization, which records the new cluster. If the Kyma is being deleted and the former cluster is gone, wait for the purge or run `lifecycle-manager purge`; the Event `PurgeAbandoned` names what remains",
				},
			},
		},
		{
			Title: "Synchronization",
			Reasons: []Reason{
				{
					Name:  "SyncOntoItself",
					Means: "the access Secret leads to the control plane itself, so the remote Kyma would be the Kyma",
					Do:    "set `spec.sync.namespace` to another namespace",
				},
				{
					Name:  "RemoteKymaClaimed",
					Means: "the remote Kyma belongs to another Kyma, according to its annotation and to that Kyma's status",
					Do:    "give one of the two Kymas another cluster, name or namespace; the remote Kyma's annotation `operator.kyma-project.io/synced-from` names the other Kyma",
				},
				{
					Name:  "RemoteKymaInvalid",
					Means: "the remote Kyma's spec cannot be accepted; the last accepted spec stays in force",
					Do:    "correct the remote Kyma; its status has the same message",
				},
				{
					Name:  "RemoteKymaDeleting",
					Means: "the remote Kyma is being deleted, and finalizers of other controllers block it",
					Do:    "have these finalizers removed",
				},
				{
					Name:  "RemoteKymaNotMoved",
					Means: "a change of `spec.sync` asks for another place, and the move cannot be finished",
					Do:    "remove the obstacle that the message names",
				},
				{
					Name:  "DefinitionNotSynced",
					Means: "a CRD could not be created or updated in the remote cluster",
					Do:    "read the message: a permission is missing, or somebody else owns the CRD",
				},
				{
					Name:  "CatalogNotSynced",
					Means: "ModuleTemplates or ModuleReleaseMetas could not be written to the remote cluster",
					Do:    "read the message: a permission is missing, or somebody else owns a CRD",
				},
				{
					Name:  "CatalogContinues",
					Means: "more of the catalog changed than one reconcile writes; the message shows the progress",
					Do:    "nothing",
				},
				{
					Name:  "RemoteTemplateNotImported",
					Means: "a user-provided ModuleTemplate in the remote cluster could not be imported",
					Do:    "read the module's message",
				},
				{
					Name:  "EditIgnored",
					Means: "somebody edited the channel or the modules of the control plane's Kyma, but its remote Kyma decides about them because `spec.sync` is unset. Reported by an Event, and by the condition `RemoteKymaDecides` while the two differ",
					Do:    "edit the Kyma in the remote cluster, or set `spec.sync` so that both count",
				},
				{
					Name:  "ImagePullSecretNotFound",
					Means: "the Secret that `--skr-image-pull-secret` names does not exist",
					Do:    "create the Secret, or correct the flag",
				},
				{
					Name:  "UpstreamAgentNotRemoved",
					Means: "what an agent left in the remote cluster could not be removed. It is the agent of upstream ([migration](migration.md)), or of this instance before events were switched off",
					Do:    "grant the account in the remote cluster the permission that the message names",
				},
				{
					Name:  "ImagePullSecretNotSynced",
					Means: "the image pull Secret could not be written to the remote cluster",
					Do:    "read the message: a permission is missing, or somebody else's Secret has the same name",
				},
				{
					Name:  "ManifestsRemaining",
					Means: "the clean-up waits until the modules are removed",
					Do:    "nothing",
				},
			},
		},
		{
			Title: "The agent",
			Text:  "These reasons belong to [events from remote clusters](watcher.md). They appear in the Kyma's `status.lastOperation` while its condition `SKRWebhook` is False, or in the workflow `certificates`. The Kyma is Processing while it waits, and in Error after a failure; its modules are installed and reported all the same.",
			Reasons: []Reason{
				{
					Name:  "RuntimeIDMissing",
					Means: "the Kyma lacks the label `kyma-project.io/runtime-id`, which identifies the events of its cluster",
					Do:    "label the Kyma with a value that no other Kyma has",
				},
				{
					Name:  "AuthoritiesPending",
					Means: "the listener has no certificate yet, or its Secret has no certificate authorities",
					Do:    "wait some seconds at the first start; otherwise read the details of the workflow `certificates` in Temporal",
				},
				{
					Name:  "CertificatePending",
					Means: "the agent's certificate is not issued yet, or the listener does not trust its authority yet; the message quotes the issuer",
					Do:    "nothing, unless it lasts: check the Certificate in the namespace of `--istio-namespace`",
				},
				{
					Name:  "CertificateNameTaken",
					Means: "a Kyma of the same name in another namespace already has the certificate of this name",
					Do:    "rename one of the two Kymas: only one of them can have an agent",
				},
				{
					Name:  "CertificateWithoutAuthority",
					Means: "the issuer does not write the signing authority to `ca.crt`; public issuers do not",
					Do:    "configure an issuer with a certificate authority of its own",
				},
				{
					Name:  "CertificateRefused",
					Means: "the control plane refuses a Secret or Certificate, for example by an admission policy or a quota",
					Do:    "allow it in the namespace of `--istio-namespace`",
				},
				{
					Name:  "IssuerNotInstalled",
					Means: "the control plane does not serve the issuer's Certificate kind",
					Do:    "install the issuer's controller, or choose another `--cert-management`",
				},
				{
					Name:  "AuthoritiesUnreadable",
					Means: "somebody changed the Secret `klm-watcher-authority`, and it cannot be read",
					Do:    "restore the Secret, or delete it: Lifecycle Manager makes a new authority, and the listener keeps its trust in the old ones",
				},
				{
					Name:  "AgentCertificateHeldBack",
					Means: "a certificate from a new authority waits until the remote cluster's API server trusts that authority",
					Do:    "nothing: it is delivered once the RemoteAgent is applied",
				},
				{
					Name:  "AgentCertificateRefused",
					Means: "the remote cluster refuses the Secret `skr-webhook-tls`, or somebody else's Secret has this name",
					Do:    "delete the other Secret, or find the policy that refuses ours",
				},
				{
					Name:  "AgentNotSynchronized",
					Means: "the agent's certificate could not be written to the remote cluster",
					Do:    "read the message: a permission is missing, or the cluster failed; it is retried",
				},
				{
					Name:  "InvalidAgent",
					Means: "the RemoteAgent cannot be read, or a resource limit of its container is not a quantity",
					Do:    "correct `--skr-webhook-memory-limits` and `--skr-webhook-cpu-limits`; do not edit RemoteAgents",
				},
			},
		},
		{
			Title: "What a Kyma asks for",
			Reasons: []Reason{
				{
					Name:  "ModuleNotFound",
					Means: "the catalog has no module of this name",
					Do:    "correct the entry, or publish the module",
				},
				{
					Name:  "NoVersionForChannel",
					Means: "the ModuleReleaseMeta has no version for the channel",
					Do:    "choose another channel, or add this one to the ModuleReleaseMeta",
				},
				{
					Name:  "ModuleTemplateNotFound",
					Means: "the ModuleReleaseMeta names a version that has no ModuleTemplate",
					Do:    "publish the ModuleTemplate `<module>-<version>`",
				},
				{
					Name:  "ModuleAmbiguous",
					Means: "several ModuleTemplates or ModuleReleaseMetas match; the message names them",
					Do:    "name one by namespace and name, or delete the others",
				},
				{
					Name:  "OtherController",
					Means: "another controller serves the module",
					Do:    "nothing, or set `controller`",
				},
				{
					Name:  "ModuleMandatory",
					Means: "the module is mandatory, so it is installed anyway",
					Do:    "remove the entry",
				},
				{
					Name:  "ModuleNotAllowed",
					Means: "the module is `internal`, `beta` or restricted, and the Kyma may not have it; it is uninstalled. Or its ModuleReleaseMeta has a `kymaSelector`, but `--restricted-default-modules` does not name the module; then it stays installed",
					Do:    "label the Kyma, or remove the entry",
				},
				{
					Name:  "DowngradeRefused",
					Means: "the requested version is older than the installed one, which stays",
					Do:    "publish a newer version, remove and add the module, or allow the downgrade by the annotation `operator.kyma-project.io/allow-downgrade: \"true\"` on the Kyma",
				},
				{
					Name:  "DuplicateComponent",
					Means: "two entries name the same component",
					Do:    "remove one of them",
				},
				{
					Name:  "ComponentChanged",
					Means: "the entry now means another component",
					Do:    "remove and add the module",
				},
				{
					Name:  "TargetChanged",
					Means: "the ModuleTemplate's `target` changed",
					Do:    "remove and add the module",
				},
				{
					Name:  "SyncDisabled",
					Means: "the module is for a remote cluster, but `spec.sync.enabled` is false",
					Do:    "enable synchronization, or remove the module",
				},
				{
					Name:  "ControlPlaneTargetNotAllowed",
					Means: "the module is for the control plane itself, or the sync strategy is `local-client`, which reaches it with Lifecycle Manager's own permissions",
					Do:    "set `--allow-control-plane-modules` if this is wanted",
				},
				{
					Name:  "SharedModule",
					Means: "another Kyma's Manifest installs this `control-plane` module for all Kymas",
					Do:    "nothing",
				},
				{
					Name:  "SharedModuleVersion",
					Means: "another Kyma has the same `control-plane` module in another version",
					Do:    "agree on one version",
				},
				{
					Name:  "InvalidDescriptor",
					Means: "the component descriptor cannot be read",
					Do:    "check it with `module lint`, and publish it again",
				},
				{
					Name:  "SignatureRefused",
					Means: "no signature that the policy requires could be verified",
					Do:    "see [signatures](operating.md#signatures)",
				},
				{
					Name:  "UnsupportedLayer",
					Means: "the module has a layer of a type that cannot be installed",
					Do:    "publish it with raw manifests or a Helm chart",
				},
				{
					Name:  "InvalidDefaultCR",
					Means: "`spec.data` of the ModuleTemplate is not a custom resource with a name, or is larger than 256 KiB",
					Do:    "correct `spec.data`, and publish the module again",
				},
				{
					Name:  "DescriptorUnavailable",
					Means: "the component descriptor could not be fetched from the registry",
					Do:    "check the registry and its credentials; it is retried",
				},
				{
					Name:  "ManifestNameCollision",
					Means: "two modules would have the same Manifest name, or a module would have the name of an agent",
					Do:    "rename one",
				},
				{
					Name:  "TooManyModules",
					Means: "the Kyma has 256 Manifests, and more do not [fit into its status](performance.md#how-large-objects-can-get). Mandatory modules and modules under removal count; installed modules stay",
					Do:    "remove modules, or wait until those under removal are gone",
				},
				{
					Name:  "KymaNameTooLong",
					Means: "the Kyma's name is too long for valid Manifest names",
					Do:    "give the Kyma a shorter name",
				},
			},
		},
		{
			Title: "Artifacts",
			Reasons: []Reason{
				{
					Name:  "InvalidReference",
					Means: "the name of a layer or component version is not valid",
					Do:    "publish the module again with a valid name",
				},
				{
					Name:  "RegistryNotAllowed",
					Means: "the layer is in a registry that `--oci-registry-allowed` does not list",
					Do:    "publish the module in a registry that the message lists, or allow this one",
				},
				{
					Name:  "LayerNotFound",
					Means: "the registry does not have the layer; some registries also answer so if the credentials are missing",
					Do:    "push the layer again; it is fetched within a minute",
				},
				{
					Name:  "DescriptorNotFound",
					Means: "the registry does not have the component version",
					Do:    "push it again, which is noticed within a minute, or correct the ModuleReleaseMeta",
				},
				{
					Name:  "DigestMismatch",
					Means: "twice in a row, the registry or a proxy sent content that does not match the digest; none of it was used",
					Do:    "find out who changed the content; it is fetched again within a minute",
				},
				{
					Name:  "LayerTooLarge",
					Means: "the layer, or its unpacked content, exceeds the limits",
					Do:    "make the layer smaller",
				},
				{
					Name:  "InvalidManifest",
					Means: "the layer's content does not match its type",
					Do:    "correct the layer, and publish the module again",
				},
				{
					Name:  "InvalidChart",
					Means: "the Helm chart cannot be loaded or rendered",
					Do:    "correct the chart; the message quotes Helm",
				},
				{
					Name:  "Unsupported",
					Means: "the layer has a type that cannot be installed, such as a kustomize folder",
					Do:    "publish it as raw manifests or a Helm chart",
				},
				{
					Name:  "RegistryUnavailable",
					Means: "the registry does not answer, or not with the expected protocol. The `hint` names the flag if its certificate comes from an unknown authority (`--oci-registry-ca-file`), or if it has no TLS (`--oci-registry-plain-http`)",
					Do:    "check that the registry runs and that the workers reach it: DNS, egress, proxy, certificate; work continues within a minute of its return",
				},
				{
					Name:  "RegistryUnauthorized",
					Means: "the registry refuses the credentials",
					Do:    "renew the Secret that `--oci-registry-cred-secret` names; no restart is needed",
				},
				{
					Name:  "SecretNotInjected",
					Means: "a Secret of the module [asks for data](module-teams.md#data-from-the-control-plane). The Secret of that name in `kcp-system` is missing, cannot be read, or lacks the module's label. Nothing is applied",
					Do:    "create it in the control plane, with the label `operator.kyma-project.io/module-name` and the module's name; each pass of the sweep tries again",
				},
				{
					Name:  "RendererFailed",
					Means: "the process that renders charts failed, or the node was too busy to run it",
					Do:    "read the message; it is retried",
				},
			},
		},
		{
			Title: "Installation",
			Reasons: []Reason{
				{
					Name:  "Ready",
					Means: "the module is ready",
					Do:    "nothing",
				},
				{
					Name:  "Installing",
					Means: "everything has just been applied",
					Do:    "nothing",
				},
				{
					Name:  "ResourcesPending",
					Means: "some objects are not ready yet. The message names them and, after a minute, quotes their latest Event",
					Do:    "wait, or check these objects",
				},
				{
					Name:  "ResourcesMissing",
					Means: "objects that were applied are gone; the message names them",
					Do:    "nothing: they are created again. If it happens again, find out who deletes them",
				},
				{
					Name:  "ResourcesFailed",
					Means: "some objects failed, and waiting does not help",
					Do:    "check the objects that the message names",
				},
				{
					Name:  "WorkloadStuck",
					Means: "pods of a workload have not run for a long time; the message quotes Kubernetes' reason",
					Do:    "check these pods. `ImagePullBackOff`: fix the image or its pull Secret. `OOMKilled`: raise the container's memory limit. `Unschedulable`: add nodes, or lower the pod's requests",
				},
				{
					Name:  "ManagerPending",
					Means: "the workload that `spec.manager` names is not ready",
					Do:    "check that workload",
				},
				{
					Name:  "ModuleCRWanted",
					Means: "the default custom resource is about to be created",
					Do:    "nothing",
				},
				{
					Name:  "ModuleCRPending",
					Means: "the state of the module's custom resource is Processing or empty",
					Do:    "check the module's operator",
				},
				{
					Name:  "ModuleCRDeleting",
					Means: "somebody deletes the module's custom resource, but the module stays",
					Do:    "wait until it is deleted, or remove the module",
				},
				{
					Name:  "ModuleCRError",
					Means: "the state of the module's custom resource is Error",
					Do:    "read the status of the custom resource",
				},
				{
					Name:  "ModuleCRWarning",
					Means: "the state of the module's custom resource is Warning",
					Do:    "read the status of the custom resource",
				},
				{
					Name:  "ModuleCRRemoved",
					Means: "a user deleted the default custom resource, and it stays deleted",
					Do:    "nothing; to restore it, set the annotation `operator.kyma-project.io/recreate-default-cr` on the Kyma",
				},
				{
					Name:  "ModuleCRGone",
					Means: "somebody deletes the default custom resource each time it is created",
					Do:    "find out who deletes it",
				},
				{
					Name:  "DefaultCRInvalid",
					Means: "the cluster refuses the default custom resource",
					Do:    "publish the module with a default custom resource that matches its CRD; if a quota, webhook or policy refused it, retries continue, at most 15 minutes apart",
				},
				{
					Name:  "DefaultCRRetried",
					Means: "creating the default custom resource failed, and a retry may succeed",
					Do:    "nothing, unless it lasts: a webhook may be down",
				},
				{
					Name:  "ApplyFailed",
					Means: "the cluster refused some objects, or cannot decode them (a field of a wrong type); the message names the objects, the fields and the API server's reasons",
					Do:    "correct the objects and publish the module again, or grant Lifecycle Manager's account in the cluster the missing permission; retries continue, at most 15 minutes apart",
				},
				{
					Name:  "FieldImmutable",
					Means: "the new version changes an immutable field of some objects; these objects stay as they are",
					Do:    "publish a version in which the object has another name, or delete the object in the cluster: it is created again. With the annotation `operator.kyma-project.io/replace` on the object, Lifecycle Manager [deletes and creates it](module-teams.md#what-cannot-be-changed) itself",
				},
				{
					Name:  "NotAdmitted",
					Means: "the cluster's admission control refused some objects: a quota, a limit range, pod security, a policy, or a webhook that the message names",
					Do:    "change the quota, policy or webhook that refuses them; the module need not be published again. Retries continue, at most 15 minutes apart",
				},
				{
					Name:  "AdmissionWebhookFailed",
					Means: "an admission webhook for some objects does not answer; the message names it",
					Do:    "repair the webhook, which is often another module's operator; if that operator is gone, delete the webhook configuration. Retries continue, at most 15 minutes apart",
				},
				{
					Name:  "NamespaceTerminating",
					Means: "the namespace of some objects is being deleted",
					Do:    "wait until the namespace is gone: it is created again. If it stays, its conditions say what blocks it",
				},
				{
					Name:  "ApplyContinues",
					Means: "the module has more objects than one step can apply; the message shows the progress",
					Do:    "nothing: the next step continues",
				},
				{
					Name:  "ApplyRetried",
					Means: "applying some objects failed, and a retry may succeed; after `--missing-api-timeout` the module is in Error, and the retries continue",
					Do:    "nothing, unless it lasts: the message says why",
				},
				{
					Name:  "MissingAPI",
					Means: "the cluster does not serve the kind of some objects",
					Do:    "install the CRD or API of that kind, or mark the object `optional`",
				},
				{
					Name:  "StoredVersions",
					Means: "the upgrade would remove a CRD version in which custom resources are stored",
					Do:    "migrate these custom resources first",
				},
				{
					Name:  "HookPending",
					Means: "a hook of the chart is still running",
					Do:    "wait, or check its Job",
				},
				{
					Name:  "HookFailed",
					Means: "a hook of the chart failed",
					Do:    "check its Job",
				},
				{
					Name:  "FieldConflict",
					Means: "another client keeps changing an object of the module; the message names its field manager, the field, and the time of the next correction",
					Do:    "stop that client, or change the module so that the two agree",
				},
				{
					Name:  "ResourcesRecreated",
					Means: "somebody deletes an object of the module, or removes its labels, each time Lifecycle Manager restores it; the message names the object and the time of the next attempt",
					Do:    "find out who does it, for example in the cluster's audit log: a clean-up policy, an owner reference to an object that does not exist, or a controller",
				},
				{
					Name:  "ResourcesTerminating",
					Means: "somebody deleted an object of the module, and a finalizer blocks the deletion; the message names both",
					Do:    "check the controller that owns the finalizer; the object is created again once it is gone",
				},
				{
					Name:  "InvalidStateCheck",
					Means: "a path in `customStateCheck` of the ModuleTemplate is not a valid JSONPath; the message names it",
					Do:    "correct the path, and publish the module again",
				},
				{
					Name:  "NotOwnedByKyma",
					Means: "no Kyma of this instance owns the Manifest. An owner is its controller by reference, has that uid in the same namespace, and is named by the label `kyma-name`. Nothing of it is installed, removed or released",
					Do:    "do not write Manifests by hand; if its Kyma is gone for good, remove the module's objects, then the Manifest's finalizers",
				},
				{
					Name:  "NotPlanned",
					Means: "the Manifest differs from its Kyma's plan (`status.planned` of the Kyma), or no plan has it. Nothing is fetched, installed or changed. A Manifest that no plan ever had is removed, with the Event `ManifestNotPlanned` on the Kyma",
					Do:    "find out who wrote the Manifest; change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead",
				},
				{
					Name:  "NotSigned",
					Means: "signatures are required now, but the plan accepted the module's descriptor before that. Nothing is installed or changed",
					Do:    "sign the component version, or publish a signed one",
				},
				{
					Name:  "TargetNotDecided",
					Means: "the Manifest asks for the control plane's own cluster, or for another layer there, but its Kyma's plan does not. Nothing is installed or changed",
					Do:    "nothing: the Kyma's next reconcile corrects or removes the Manifest",
				},
				{
					Name:  "AwaitsTakeOver",
					Means: "upstream wrote the Manifest's spec and installed the module. Its objects are recorded, and nothing is changed",
					Do:    "nothing: the Kyma's next reconcile plans it. A Kyma with the label `skip-reconciliation` is not reconciled",
				},
				{
					Name:  "SpecEdited",
					Means: "somebody edited the Manifest's spec. The edit is not installed; the spec is restored, with the Event `SpecRestored`",
					Do:    "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead; to experiment, label the Manifest `skip-reconciliation` and change the objects in the cluster",
				},
				{
					Name:  "InvalidManifestSpec",
					Means: "the Manifest's spec is not valid",
					Do:    "do not write Manifests by hand",
				},
				{
					Name:  "TooManyObjects",
					Means: "the Manifest would not [fit into etcd](performance.md#how-large-objects-can-get) with the inventory of all the module's objects. Nothing is applied, and installed objects stay",
					Do:    "split the module",
				},
				{
					Name:  "ManifestChanged",
					Means: "the Manifest changed during a step",
					Do:    "nothing",
				},
				{
					Name:  "Skipped",
					Means: "the label `skip-reconciliation` is set",
					Do:    "remove the label when you are ready",
				},
				{
					Name:  "Unmanaged",
					Means: "the module's entry says `managed: false`",
					Do:    "nothing",
				},
			},
		},
		{
			Title: "Removal",
			Reasons: []Reason{
				{
					Name:  "Deleting",
					Means: "the module is being removed",
					Do:    "nothing",
				},
				{
					Name:  "WaitingForModuleCR",
					Means: "the removal waits for the finalizers of the default custom resource",
					Do:    "check the module's operator",
				},
				{
					Name:  "BlockedByModuleCRs",
					Means: "custom resources that users created would be lost with the module; the `hint` and an Event `UserDataBlocksRemoval` name the first ten",
					Do:    "delete them, keep the module, or allow their [loss](operating.md#data-of-a-modules-users) by the annotation `operator.kyma-project.io/delete-user-data`",
				},
				{
					Name:  "WaitingForResources",
					Means: "the removal waits until objects are gone",
					Do:    "check the finalizers of these objects",
				},
				{
					Name:  "ManifestsNotDeleted",
					Means: "the control plane refuses to delete some Manifests of a Kyma under deletion, for example by a policy; the others are removed meanwhile",
					Do:    "fix the refusal that the message quotes; retries continue, at most 15 minutes apart",
				},
			},
		},
		{
			Title: "Other reasons",
			Reasons: []Reason{
				{
					Name:  "TimedOut",
					Means: "a step did not finish in time",
					Do:    "nothing, unless it lasts: read the log",
				},
				{
					Name:  "PurgeContinues",
					Means: "the purge of a module needs more than one step",
					Do:    "nothing: the next step continues",
				},
				{
					Name:  "WaitEnded",
					Means: "a wait ended without an answer",
					Do:    "nothing",
				},
				{
					Name:  "Error",
					Means: "an unclassified error; the message says more",
					Do:    "read the log",
				},
			},
		},
		{
			Title: "Events only",
			Reasons: []Reason{
				{
					Name:  "KymaReady",
					Means: "the Kyma became Ready; the Event names the modules that became ready at the same time",
					Do:    "nothing",
				},
				{
					Name:  "KymaWarning",
					Means: "the Kyma became Warning",
					Do:    "check the module",
				},
				{
					Name:  "KymaError",
					Means: "the Kyma became Error because of a module. If the Kyma itself fails, for example because of its access Secret, the Event has that reason instead",
					Do:    "read the message",
				},
				{
					Name:  "KymaDeleting",
					Means: "the Kyma became Deleting",
					Do:    "nothing",
				},
				{
					Name:  "ModuleReady",
					Means: "a module became ready before the whole Kyma did",
					Do:    "nothing",
				},
				{
					Name:  "ModuleWarning",
					Means: "a module became Warning",
					Do:    "read its message",
				},
				{
					Name:  "ModuleError",
					Means: "a module became Error",
					Do:    "read its message",
				},
				{
					Name:  "ModuleRemoved",
					Means: "a module is gone",
					Do:    "nothing",
				},
				{
					Name:  "ModuleLeft",
					Means: "the Kyma was deleted with `--cascade=orphan`, so its module stays installed",
					Do:    "nothing: the next Kyma of that name takes it over. To forget it, delete the Manifest; the objects stay",
				},
				{
					Name:  "OrphanAdopted",
					Means: "an earlier Kyma of this name left a Manifest for the same cluster; the Kyma took it over with its inventory",
					Do:    "nothing",
				},
				{
					Name:  "OrphanReleased",
					Means: "an earlier Kyma of this name left a Manifest for another or an unrecorded cluster. It made room for the Kyma's own Manifest, which adopts what it finds in its cluster by the labels on the objects",
					Do:    "nothing",
				},
				{
					Name:  "OrphanDeleted",
					Means: "somebody deleted a Manifest whose Kyma was deleted with `--cascade=orphan`; its objects stay",
					Do:    "delete the objects manually if they are not wanted",
				},
				{
					Name:  "ManifestNotPlanned",
					Means: "somebody created a Manifest for this Kyma that none of its plans has. Nothing of it is fetched or installed, and it is removed",
					Do:    "find out who can write Manifests; list the module in the Kyma instead",
				},
				{
					Name:  "SpecRestored",
					Means: "somebody edited a Manifest's spec, and it was restored",
					Do:    "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead",
				},
				{
					Name:  "RemovalUpgradeFailed",
					Means: "a removal waits for the module's operator, and a newer version of the module could not be applied meanwhile",
					Do:    "publish a version that can be applied, or remove the finalizer from the default custom resource",
				},
				{
					Name:  "RemovalHeld",
					Means: "so many clusters lost modules within the window that further [removals](operating.md#removals) wait, or a catalog change would remove a module from many Kymas",
					Do:    "undo what removes the modules, or approve it in the RemovalBudget",
				},
				{
					Name:  "AdoptedFromUpstream",
					Means: "a Manifest that upstream had worked on got its inventory; its objects stay as they are ([migration](migration.md))",
					Do:    "nothing",
				},
				{
					Name:  "DriftCorrected",
					Means: "objects had drifted, and were corrected",
					Do:    "find out who changes them, if it happens again",
				},
				{
					Name:  "ObjectReplaced",
					Means: "objects of a module could not be changed; they were deleted and created again because of their annotation `operator.kyma-project.io/replace`",
					Do:    "nothing",
				},
				{
					Name:  "DriftConflict",
					Means: "another client keeps changing or deleting an object",
					Do:    "stop that client, or change the module so that the two agree",
				},
				{
					Name:  "NotPruned",
					Means: "a chart queries the cluster's APIs, and an aggregated API does not answer; objects that the chart omits without this API stay",
					Do:    "repair the API that the message names, or delete its APIService",
				},
				{
					Name:  "UserDataBlocksRemoval",
					Means: "custom resources that users created would be lost with a module under removal; the message names the first ten",
					Do:    "delete them, keep the module, or allow their [loss](operating.md#data-of-a-modules-users) by the annotation `operator.kyma-project.io/delete-user-data`",
				},
				{
					Name:  "UserDataDeleted",
					Means: "custom resources that users created are deleted with their module, because the annotation `delete-user-data` allows it",
					Do:    "nothing",
				},
				{
					Name:  "LeftToOtherKymas",
					Means: "a module was removed or changed, and some of its objects stay: another Kyma in the same cluster uses them, or a Namespace contains other objects or cannot be listed. The message names it",
					Do:    "nothing: the last of these Kymas removes them. A Namespace is yours: delete it when you no longer need its content",
				},
				{
					Name:  "KeptByResourcePolicy",
					Means: "a module was removed or changed, and its objects with the annotation `helm.sh/resource-policy: keep` stay, with their CRD or Namespace; the message names the first three",
					Do:    "nothing: they no longer belong to the module. Delete them when you no longer need them; a later installation of the module adopts them",
				},
				{
					Name:  "ReleasedWithoutCluster",
					Means: "a module was removed without an inventory, and its cluster could not be read; the message says why",
					Do:    "check the cluster for remains of the module if it comes back",
				},
				{
					Name:  "UpstreamCertificateLeft",
					Means: "the certificate of upstream's agent could not be deleted in the control plane; the message says why ([migration](migration.md))",
					Do:    "delete the Certificate and the Secret of that name, or grant the permission in `--istio-namespace`",
				},
				{
					Name:  "RemoteChangesUndone",
					Means: "a remote cluster reverts each write: labels, annotations and status of its Kyma, catalog objects, the image pull Secret, the agent's certificate. The message names the field manager if it is known. After three reverts in a row the write is repeated once a day, or at once if the desired state changes",
					Do:    "find what reverts it: a controller, an admission policy or webhook, or an edited CRD that prunes fields",
				},
				{
					Name:  "UnknownObject",
					Means: "an object has Lifecycle Manager's labels, but no Manifest has it in its inventory, for example after a [restore](backup.md#what-becomes-of-what-was-changed-after-the-snapshot)",
					Do:    "delete the object if nobody needs it",
				},
				{
					Name:  "PurgeGracePeriodInvalid",
					Means: "the grace period in the annotation cannot be parsed; the default applies",
					Do:    "correct the annotation",
				},
				{
					Name:  "Purged",
					Means: "a purge deleted an object without waiting for its finalizers",
					Do:    "check what its finalizers were for",
				},
				{
					Name:  "PurgeAbandoned",
					Means: "the purge could not reach something and released it; the message names some of what remains",
					Do:    "clean it up manually if the cluster comes back",
				},
			},
		},
		{
			Title: "Watchers",
			Text:  "These reasons appear in an Event on the Watcher and in the message of its condition `VirtualService`. The condition's own reason is always `Ready`.",
			Reasons: []Reason{
				{
					Name:  "WatcherReady",
					Means: "events of remote clusters arrive",
					Do:    "nothing",
				},
				{
					Name:  "WatcherGatewayNotFound",
					Means: "no Gateway matches `spec.gateway.selector`, or none has a host that the Watcher's namespace may use; an existing VirtualService stays as it is",
					Do:    "label a Gateway, or correct the selector; it takes effect at once",
				},
				{
					Name:  "WatcherPathTaken",
					Means: "an older Watcher for the same manager sends its events to another Service, and a URL path can lead to only one",
					Do:    "give one of the two another `spec.manager`, or give both the same Service",
				},
				{
					Name:  "WatcherNameTaken",
					Means: "somebody else's VirtualService has the Watcher's name; it stays as it is",
					Do:    "rename one of the two",
				},
				{
					Name:  "WatcherInvalid",
					Means: "a field of the Watcher is not valid; the message names it",
					Do:    "correct the field",
				},
				{
					Name:  "WatcherNotRouted",
					Means: "without Istio (`--watcher-routing=direct`), only events for this instance arrive, but the Watcher is for another manager",
					Do:    "omit `spec.manager`, or use `--watcher-routing=istio`",
				},
				{
					Name:  "WatcherRefused",
					Means: "the control plane refuses the VirtualService; the message quotes it",
					Do:    "grant Lifecycle Manager the permission, or satisfy the admission webhook that the message quotes",
				},
				{
					Name:  "VirtualServiceRemoving",
					Means: "other controllers' finalizers block the deletion of the VirtualService, and the Watcher waits for it",
					Do:    "have the controllers that set these finalizers remove them",
				},
				{
					Name:  "ListenerAddressUnknown",
					Means: "the Gateway that `--istio-gateway-name` and `--istio-gateway-namespace` name does not exist, or has no host to connect to, so agents have no address",
					Do:    "create the Gateway, with a host that is not a wildcard",
				},
			},
		},
		{
			Title: "Rollouts",
			Text:  "These reasons appear in Events on the ModuleRollout. `VersionNotApplied` and `NotSettled` appear in its `status.failures`, beside reasons of Manifests. The reasons of its conditions are its phases. The last three belong to the condition `Ready` of a RolloutPolicy.",
			Reasons: []Reason{
				{
					Name:  "RolloutHeld",
					Means: "a [rollout in stages](rollouts.md) stopped by itself; the message says how many clusters failed and why, or which Prometheus query failed with which result",
					Do:    "repair the clusters, give the channel another version, or set `spec.acceptFailures`, `spec.skipAnalysis`, `spec.revert` or `spec.abort` of the ModuleRollout",
				},
				{
					Name:  "RolloutProgressed",
					Means: "a stage began, or the rollout ended",
					Do:    "nothing",
				},
				{
					Name:  "VersionPromoted",
					Means: "the version was healthy for long enough, and the next channel [got it](rollouts.md#promotion); also on the ModuleReleaseMeta",
					Do:    "nothing",
				},
				{
					Name:  "PromotionEnded",
					Means: "the next channel does not get the version from this rollout; the message says why",
					Do:    "set the channel's version yourself if it should have this version",
				},
				{
					Name:  "VersionNotApplied",
					Means: "the version was released to a cluster, but its Manifest did not get it within `settleWithin`",
					Do:    "read the status of the Kyma",
				},
				{
					Name:  "NotSettled",
					Means: "the module did not become ready within `settleWithin`",
					Do:    "read the status of the Manifest, or set a longer `settleWithin` if the module needs it",
				},
				{
					Name:  "InForce",
					Means: "the policy decides how new versions reach the clusters; the message counts its channels",
					Do:    "nothing",
				},
				{
					Name:  "NoPrometheus",
					Means: "the policy is in force, but its stages with an [analysis](rollouts.md#analysis) wait because no Prometheus is configured",
					Do:    "set `--rollout-prometheus-url`",
				},
				{
					Name:  "NothingSelected",
					Means: "the policy selects no channel, or other policies take precedence for all of them",
					Do:    "correct `modules`, `selector` or `channels`, or delete the policy",
				},
			},
		},
	}
}
