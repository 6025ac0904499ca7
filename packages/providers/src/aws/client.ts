interface Settings {
  region: string;
  access_key_id?: string | undefined;
  secret_access_key?: string | undefined;
  session_token?: string | undefined;
  endpoint?: string | undefined;
}

/** Returns the options of every AWS client. The SDK does not retry: Belay does, with the same limits for all services. */
export function clientSettings(config: Settings, tools: { timeout?: number }) {
  const { region, access_key_id, secret_access_key, session_token, endpoint } = config;
  return {
    region,
    maxAttempts: 1,
    requestHandler: { requestTimeout: tools.timeout ?? 3_000, connectionTimeout: tools.timeout ?? 3_000 },
    ...(endpoint !== undefined && { endpoint }),
    ...(access_key_id !== undefined &&
      secret_access_key !== undefined && {
        credentials: {
          accessKeyId: access_key_id,
          secretAccessKey: secret_access_key,
          ...(session_token !== undefined && { sessionToken: session_token }),
        },
      }),
  };
}
